"""The main thing, to look at: an index of packages in Quire and in PostgreSQL, whatever happens to either."""

import os
import subprocess
import time

import compare
import faults
from common import Failure, expect, root
from torture import Torture


def say(text):
    print(f'\n— {text}', flush=True)


def show(run, text):
    """A query and what comes of it, as psql shows them."""
    print(f"  postgres=> {text}")
    for row in compare.psql(run.primary, text):
        print('    ' + ' | '.join(row))


def run(program, tour, seed):
    """Mirrors what the tour has made, and kills either side."""
    scene = Torture(program, seed, print)
    try:
        play(scene, tour)
        return 0
    except Failure as failure:
        print(f'FAILED: {failure}\nagain: Tests/postgres --demo --seed {seed}')
        return 1
    finally:
        scene.close()


def play(scene, tour):
    say('The tour of Quire imports an index of Debian packages')
    index = os.path.join(root, 'Fixtures/debian-packages.txt')
    result = subprocess.run([tour, index, '--database', scene.feeder.file], capture_output=True, text=True)
    expect(result.returncode == 0, f'the tour fails: {result.stderr[-600:]}')

    say('PostgreSQL starts on loopback, and the feeder takes over what is there, while packages come and go, '
        'and a bank writes')
    scene.writer_options += ['--touch', 'packages']
    scene.begin()
    scene.start_feeder()
    scene.progress('bootstrap', 60)
    show(scene, 'SELECT name, table_name FROM quire_collection ORDER BY 1')
    show(scene, "SELECT object->>'section', count(*) FROM quire_packages GROUP BY 1 ORDER BY 2 DESC LIMIT 3")

    say('The feeder, and the app with it, is killed with kill -9, five times')
    for _ in range(5):
        scene.feeder.kill()
        scene.start_feeder()
        time.sleep(scene.dice.uniform(0.2, 0.5))
    print(f'  it has gone on {scene.progress("kills") * 1000:.0f} ms later')
    look(scene)

    say('PostgreSQL crashes, and comes back after a second')
    scene.primary.crash()
    time.sleep(1)
    scene.primary.started()
    print(f'  the feeder has gone on by itself {scene.progress("a crash") * 1000:.0f} ms later')
    look(scene)

    say('A standby that lags takes over')
    print(f'  the cursor went {faults.failover(scene)}')
    print(f'  the feeder has gone on {scene.progress("a failover") * 1000:.0f} ms later')
    look(scene)

    say('The writer stops, and both are compared')
    scene.feeder.finish()
    scene.feeder.checked('mirror', scene.feeder.file, scene.feeder.connection(), '--once')
    rows, aside = compare.compare(scene.feeder, scene.primary)
    print(f'  {rows} rows are equal, byte for byte, and {aside} were set aside.')


def look(scene):
    show(scene, 'SELECT csn, state FROM quire_feed')
    show(scene, "SELECT count(*), sum((object->>'balance')::bigint) AS balance FROM quire_accounts")
    show(scene, 'SELECT count(*) AS packages, max(csn) FROM quire_packages')
