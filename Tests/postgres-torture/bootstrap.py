"""Rows that go over for the first time, while their feeder is killed again and again."""

import os
import shutil
import tempfile
import time

import compare
from common import Failure, expect, until
from feeder import Feeder
from server import USER, Network, Server

kills = 5


def run(program, count, seed):
    """Mirrors so many rows; their feeder is killed five times on the way, and the rows are equal at the end."""
    folder = tempfile.mkdtemp(prefix='quire-postgres-')
    os.chmod(folder, 0o755)
    network = Network(os.getpid())
    server = Server(os.path.join(folder, 'server'), network, disk_mebibytes=512 + count // 500)
    try:
        play(program, folder, server, count, seed)
        return 0
    except Failure as failure:
        print(f'FAILED: {failure}\nagain: Tests/postgres --bootstrap {count} --seed {seed}')
        return 1
    finally:
        server.remove()
        network.remove()
        shutil.rmtree(folder, ignore_errors=True)


def play(program, folder, server, count, seed):
    server.make()
    server.started()
    connection = f'host={server.host} port={server.port} user={USER} dbname=postgres'
    feeder = Feeder(program, folder, 'bank', lambda: [])
    began = time.monotonic()
    feeder.checked('torture', feeder.file, connection, '--seed', str(seed), '--transactions', '50', '--offline',
                   '--rows', str(count), '--relaxed', limit=600)
    print(f'{count} rows are stored after {time.monotonic() - began:.1f} s.', flush=True)
    began, last = time.monotonic(), 0
    for number in range(1, kills + 1):
        feeder.start_command('mirror', feeder.file, connection, '--once')
        stored = rows_behind(server, feeder, last, count * number // (kills + 1))
        feeder.kill()
        print(f'  killed when at least {stored} had gone over, after {time.monotonic() - began:.1f} s', flush=True)
        last = stored
    feeder.checked('mirror', feeder.file, connection, '--once', limit=600)
    print(f'All have gone over after {time.monotonic() - began:.1f} s.', flush=True)
    status, text = feeder.run('verify', feeder.file, connection, limit=600)
    expect(status == 0, f'verify ends with {status}: {text[-2000:]}')
    found = int(compare.psql(server, 'SELECT count(*) FROM quire_still')[0][0])
    expect(found == count, f'{found} rows are there')
    print(f'{kills} kills; every row is equal, byte for byte: {text.strip().splitlines()[-1]}')


def rows_behind(server, feeder, last, least):
    """How many rows are in the sink, when they are as many as `least`, and none is lost."""
    def enough():
        expect(not feeder.has_ended(), f'the feeder has ended: {feeder.last_words()}')
        known = compare.psql(server, "SELECT count(*) FROM pg_tables WHERE tablename = 'quire_still'")
        if known[0][0] == '0':
            return None
        found = int(compare.psql(server, 'SELECT count(*) FROM quire_still')[0][0])
        expect(found >= last, f'of {last} rows {found} are left')
        return found if found >= least else None
    return until('rows go over', enough, 300)
