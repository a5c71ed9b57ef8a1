"""What the sink and the feeder are put through. Each fault is over when its function ends; the caller then waits until
the feeder has gone on."""

import time

from common import Failure, expect, until
from feeder import PowerCut, another_feeder, foreign_cursor
from wire import Client

all_faults = {}
# After these, and no others, a feeder has to take over all rows again.
begin_anew = {'sink-emptied', 'feed-expired'}
# What a fault has made and not yet removed, for a run that ends in the middle of it.
others = {'feeders': [], 'servers': []}


def fault(body):
    all_faults[body.__name__.replace('_', '-')] = body
    return body


def live_feeders(t):
    return [t.feeder] + others['feeders']


def live_servers(t):
    return ([t.primary] if t.primary else []) + others['servers']


# MARK: The feeder's process

@fault
def feeder_killed(t):
    times = t.dice.randint(1, 4)
    for _ in range(times):
        t.feeder.kill()
        t.start_feeder()
        time.sleep(t.dice.uniform(0.05, 0.6))
    return f'{times} times'


@fault
def feeder_stopped(t):
    t.feeder.pause()
    time.sleep(t.dice.uniform(0.2, 0.8))
    t.feeder.go_on()


@fault
def power_cut(t):
    """Commits that no sync covers are gone, and others get their numbers: none of them may have been delivered."""
    t.feeder.kill()
    cut = PowerCut(t.feeder)
    t.feeder.start(t.dice.randrange(1 << 30), *t.writer_options, '--relaxed', preload=cut.environment)
    t.is_direct = False
    t.progress('a start under relaxed durability')
    time.sleep(t.dice.uniform(0.2, 1))
    cut.cut()
    t.start_feeder()


@fault
def poison_rows(t):
    """Rows that PostgreSQL cannot take; from now on there are always some."""
    t.feeder.kill()
    if '--poison' not in t.writer_options:
        t.writer_options.append('--poison')
    t.start_feeder()
    ask = t.primary.client.ask
    until('a row is set aside', lambda: int(ask('SELECT count(*) FROM quire_rejected')[0][0]) > 0, 30)
    if ask("SELECT 1 FROM pg_constraint WHERE conname = 'accepted'"):
        return
    # What the database refuses, and nobody can know before.
    until('a table has a constraint', lambda: ask(
        "ALTER TABLE quire_odd ADD CONSTRAINT accepted CHECK (object->>'text' <> 'refused') NOT VALID") == [], 30)
    until('a row is refused', lambda: ask("SELECT 1 FROM quire_rejected WHERE sql_state = '23514'"), 30)


# MARK: The server

@fault
def server_crashed(t):
    t.primary.crash()
    time.sleep(t.dice.uniform(0, 0.8))
    t.primary.started()


@fault
def server_away(t):
    """The writer goes on as if nothing were. The bound is wide: what shares the processors with it is in it as well."""
    _, before = t.feeder.next_figures()
    t.primary.crash()
    # The first line is of a time that began earlier.
    count, away = t.feeder.next_figures(2)
    t.primary.started()
    expect(count > 0 and away < 5 * before + 50,
           f'a writer whose commits took {before:.1f} ms wrote {count} times while the server was away, and 99 of 100 '
           f'took {away:.1f} ms')
    return f'99 of 100 commits took {before:.1f} ms before, {away:.1f} ms while'


@fault
def feed_expired(t):
    """The server is away for longer than the feed keeps what happens: all rows are taken over again."""
    t.feeder.kill()
    t.watcher.rest()
    t.primary.crash()
    t.start_feeder('--feed-bytes', '65536', '--pause', '1')
    t.feeder.next_figures(2)
    t.primary.started()
    t.progress('a bootstrap over what is there')
    t.feeder.kill()
    t.start_feeder()
    t.progress('a feed that keeps enough')
    with t.watcher.lock:
        t.watcher.cursor = 0
    t.watcher.go_on()


@fault
def backends_terminated(t):
    times = t.dice.randint(1, 5)
    for _ in range(times):
        t.primary.terminate_backends()
        time.sleep(t.dice.uniform(0.02, 0.3))
    return f'{times} times'


@fault
def disk_full(t):
    if not t.primary.is_mounted:
        return 'left out: nothing can be mounted here'
    t.primary.fill_disk()
    time.sleep(t.dice.uniform(0.5, 2))
    t.primary.clear_disk()
    return None


@fault
def failover(t):
    """An asynchronous standby that lags takes over: cursor and rows go back together."""
    t.through_proxy()
    slot = 1 - t.slot
    standby = t.primary.standby(t.new_server_folder())
    others['servers'].append(standby)
    t.proxies[slot].lead_to((standby.host, standby.port))
    t.progress('a standby was made')
    standby.hold_back()
    t.progress('the standby was held back')
    # In the longer time the feed is told that all of this was stored, and may keep it no more than it has to.
    time.sleep(t.dice.choice([0.3, 6]))
    t.watcher.rest()
    lost = t.cursor()[0]
    old = t.primary
    old.crash()
    t.proxies[t.slot].lead_to(None)
    # Before it takes over: the feeder goes on at once.
    kept = int(standby.client.ask('SELECT csn FROM quire_feed')[0][0])
    standby.promote()
    others['servers'].remove(standby)
    others['servers'].append(old)
    t.take_over(standby, slot)
    t.watcher.go_on(standby, forgets=True)
    expect(kept < lost, f'a standby that was held back is at {kept}, and its primary was at {lost}')
    old.remove()
    others['servers'].remove(old)
    return f'back from {lost} to {kept}'


@fault
def sink_emptied(t):
    """All that was mirrored is gone; the feeder begins anew, and is killed while it does."""
    t.feeder.kill()
    t.watcher.rest()
    # Behind a partition the server may not know yet that a feeder has gone, and keep its locks.
    t.primary.terminate_backends()
    drop_all(t.primary.client)
    for _ in range(t.dice.randint(1, 3)):
        t.start_feeder()
        time.sleep(t.dice.uniform(0.1, 0.5))
        t.feeder.kill()
    t.start_feeder()
    t.progress('a bootstrap')
    t.watcher.go_on(forgets=True)


def drop_all(client):
    tables = client.ask("SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND tablename LIKE 'quire\\_%'")
    client.ask('DROP TABLE ' + ', '.join(f'"{table[0]}"' for table in tables))


# MARK: What lies between them

@fault
def answer_of_commit_lost(t):
    t.through_proxy()
    times, before = t.dice.randint(1, 3), t.proxy.lost
    t.proxy.lose_commits(times)
    until('COMMITs get lost', lambda: t.proxy.lost >= before + times, 30)
    return f'{times} times'


@fault
def commit_is_late(t):
    """The server carries out a COMMIT when its client has a new connection already."""
    t.through_proxy()
    before, lateness = t.proxy.lost, t.dice.uniform(0.1, 1.5)
    t.proxy.lose_commits(1, lateness)
    until('a COMMIT comes late', lambda: t.proxy.lost > before, 30)
    return f'{lateness:.1f} s'


@fault
def connections_cut(t):
    t.through_proxy()
    for _ in range(t.dice.randint(1, 5)):
        t.proxy.cut()
        time.sleep(t.dice.uniform(0.02, 0.3))


@fault
def partition(t):
    """Nothing comes through, and nobody is told."""
    kind = t.dice.choice(['proxy', 'backend'] + (['wire'] if t.network.works else []))
    seconds = t.dice.uniform(0.3, 2.5)
    if kind == 'proxy':
        t.through_proxy()
        t.proxy.is_open = False
        time.sleep(seconds)
        t.proxy.is_open = True
    elif kind == 'backend':
        go_on = t.primary.stop_backends()
        time.sleep(seconds)
        go_on()
    else:
        t.feeder.kill()
        t.start_feeder(is_direct=True)
        t.progress('a start without a proxy')
        t.network.plug(False)
        time.sleep(seconds)
        t.network.plug(True)
    return f'{kind}, {seconds:.1f} s'


@fault
def slow_sink(t):
    t.through_proxy()
    t.proxy.delay = t.dice.uniform(0.01, 0.08)
    time.sleep(t.dice.uniform(0.5, 2))
    delay, t.proxy.delay = t.proxy.delay, 0.0
    return f'{delay * 1000:.0f} ms an answer'


# MARK: Others who deliver

@fault
def old_cursor(t):
    """A cursor from before is put back under the feeder's feet: it stops, and begun again delivers what is there."""
    ask = t.primary.client.ask
    ask('CREATE TABLE kept AS SELECT * FROM quire_feed')
    t.progress('a cursor was kept')
    t.watcher.rest()
    ask('BEGIN; DELETE FROM quire_feed; INSERT INTO quire_feed SELECT * FROM kept; COMMIT')
    ask('DROP TABLE kept')
    stopped(t.feeder, 'a feeder whose cursor was set back', [another_feeder])
    t.start_feeder()
    t.progress('a cursor was put back')
    with t.watcher.lock:
        t.watcher.cursor = 0
    t.watcher.go_on()


@fault
def copy_is_late(t):
    """A copy of the file that the sink has left behind."""
    t.feeder.kill()
    copy = make_copy(t)
    t.start_feeder()
    t.progress('the file was copied')
    copy.start(t.dice.randrange(1 << 30), *t.writer_options, is_direct=t.is_direct)
    stopped(copy, 'the feeder over a copy of the file', [another_feeder, foreign_cursor])
    remove_copy(copy)


@fault
def side_by_side(t):
    """Two feeders over copies of one file, which go different ways from one cursor on: one goes on, and one only."""
    t.feeder.kill()
    copy = make_copy(t)
    with_lock = Client(t.primary.client.path)
    with_lock.ask('BEGIN')
    with_lock.ask('SELECT csn FROM quire_feed FOR UPDATE')
    t.start_feeder()
    copy.start(t.dice.randrange(1 << 30), *t.writer_options)
    try:
        until('two feeders wait for one cursor', lambda: int(t.primary.client.ask(
            "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'")[0][0]) >= 2, 5)
    except Failure:
        # One that notices the other earlier is as good.
        pass
    with_lock.close()
    pair = [t.feeder, copy]
    until('one of two feeders over one sink stops', lambda: any(one.has_ended() for one in pair), 30)
    loser = next(one for one in pair if one.has_ended())
    winner = pair[1 - pair.index(loser)]
    stopped(loser, 'one of two feeders', [another_feeder, foreign_cursor])
    loser.remove()
    others['feeders'].remove(copy)
    t.feeder = winner
    return 'the copy went on' if winner is copy else 'the first one went on'


def make_copy(t):
    t.feeders += 1
    copy = t.feeder.copy(f'bank{t.feeders}')
    others['feeders'].append(copy)
    return copy


def remove_copy(copy):
    others['feeders'].remove(copy)
    copy.remove()


def stopped(feeder, who, statuses):
    status = feeder.ended(30)
    expect(status is not None, f'{who} goes on')
    expect(status in statuses, f'{who} ends with {status}, which says something else: {feeder.last_words()}')
