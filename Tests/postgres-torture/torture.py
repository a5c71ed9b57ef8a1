"""One run of the torture: a server, a feeder, a watcher, and what they are put through in rounds."""

import os
import random
import shutil
import tempfile
import time

import compare
import faults
from common import Failure, expect, until
from feeder import Feeder
from proxy import Proxy
from server import Network, Server
from watch import Watcher


class Torture:
    """What the faults work on. `note` tells what happens, for those who look on."""

    def __init__(self, program, seed, note):
        self.program, self.seed, self.note = program, seed, note
        self.dice = random.Random(seed)
        self.folder = tempfile.mkdtemp(prefix='quire-postgres-')
        # Servers run as another user, who has to come by.
        os.chmod(self.folder, 0o755)
        self.network = Network(os.getpid())
        self.proxies, self.slot, self.servers_made = [Proxy(), Proxy()], 0, 0
        self.primary, self.watcher, self.is_direct, self.counts = None, None, False, {}
        self.writer_options, self.feeders, self.highest_memory = [], 0, 0
        self.feeder = Feeder(program, self.folder, 'bank', self.servers)

    # MARK: Parts

    def servers(self):
        """Each server with its proxy; of a place without a server the proxy, which then leads nowhere."""
        other = (self.primary, self.proxies[1 - self.slot])
        pair = [(self.primary, self.proxies[self.slot]), other]
        return pair[:1] if self.is_direct else pair if self.slot == 0 else pair[::-1]

    @property
    def proxy(self):
        return self.proxies[self.slot]

    def new_server_folder(self):
        self.servers_made += 1
        return os.path.join(self.folder, f'server{self.servers_made}')

    def take_over(self, server, slot):
        """From now on this is the server that is written to."""
        self.primary, self.slot = server, slot
        self.proxies[slot].lead_to((server.host, server.port))

    def start_feeder(self, *more, is_direct=False):
        self.is_direct = is_direct
        self.feeder.start(self.dice.randrange(1 << 30), *self.writer_options, *more, is_direct=is_direct)

    def through_proxy(self):
        """Has the feeder go through the proxies, where faults wait for it."""
        if self.is_direct:
            self.feeder.kill()
            self.start_feeder()

    # MARK: What is seen

    def cursor(self):
        """CSN and state of the sink's cursor."""
        rows = self.primary.client.ask('SELECT csn, state FROM quire_feed')
        return (int(rows[0][0]), rows[0][1]) if rows else (0, 'none')

    def progress(self, what, limit=40):
        """Waits until the feeder has gone on by itself, and has come to the end of what it had to catch up with."""
        began, before = time.monotonic(), None

        def has_gone_on():
            nonlocal before
            if self.feeder.has_ended():
                raise Failure(f'the feeder has ended with {self.feeder.process.returncode} behind this: {what}\n'
                              + self.feeder.last_words())
            if self.watcher:
                self.watcher.check()
            cursor, state = self.cursor()
            before = cursor if before is None else before
            return cursor > before and state == 'consistent'
        until(f'the feeder goes on behind this: {what}', has_gone_on, limit)
        self.highest_memory = max(self.highest_memory, self.feeder.memory())
        return time.monotonic() - began

    # MARK: The run

    def begin(self):
        """Starts a server, and somebody who watches it."""
        server = Server(self.new_server_folder(), self.network)
        self.take_over(server, 0)
        server.make()
        server.started()
        self.watcher = Watcher(server)
        self.watcher.start()

    def prepare(self):
        self.begin()
        self.watcher.rest()
        # There are rows before the first connection, which a bootstrap takes over. It is killed on its way.
        self.feeder.checked('torture', self.feeder.file, self.feeder.connection(), '--seed', str(self.seed),
                            '--transactions', '300', '--offline')
        for _ in range(3):
            self.start_feeder()
            time.sleep(self.dice.uniform(0.05, 0.4))
            self.feeder.kill()
        self.start_feeder()
        self.progress('bootstrap')
        self.watcher.go_on()

    def run(self, rounds, only=None):
        self.prepare()
        deck = []
        for number in range(1, rounds + 1):
            if not deck:
                deck = [name for name in faults.all_faults if not only or name in only]
                self.dice.shuffle(deck)
            name = deck.pop()
            time.sleep(self.dice.uniform(0, 0.3))
            began, marks = time.monotonic(), {self.feeder.log: self.feeder.mark()}
            detail = faults.all_faults[name](self)
            took = self.progress(name, 60)
            has_begun_anew = self.feeder.has_begun_anew(marks.get(self.feeder.log, 0))
            expect(has_begun_anew == (name in faults.begin_anew),
                   f'the feeder {"began" if has_begun_anew else "did not begin"} anew behind this: {name}')
            self.counts[name] = self.counts.get(name, 0) + 1
            self.note(f'{number:4} {name}{f" ({detail})" if detail else ""}: {time.monotonic() - began:.1f} s, '
                      f'on its way {took:.1f} s behind it, cursor {self.cursor()[0]}')
        return self.finish()

    def finish(self):
        self.feeder.finish()
        status, text = self.feeder.run('mirror', self.feeder.file, self.feeder.connection(), '--once')
        expect(status == 0, f'the last run of the feeder ends with {status}: {text[-1500:]}')
        rows = compare.compare(self.feeder, self.primary)
        until('the watcher has seen the end',
              lambda: self.watcher.check() or self.watcher.cursor == self.cursor()[0], 10)
        self.watcher.finish()
        expect(self.watcher.consistent > 0, 'the watcher has never seen a consistent sink')
        return rows

    def close(self, keeps=False):
        """Ends everything; keeps the files of a run that has failed."""
        for feeder in faults.live_feeders(self):
            if feeder.process and not feeder.has_ended():
                feeder.go_on()
                feeder.kill()
        if self.watcher:
            self.watcher.over.set()
        kept = tempfile.mkdtemp(prefix='quire-postgres-failed-') if keeps else None
        if keeps:
            for name in os.listdir(self.folder):
                if os.path.isfile(os.path.join(self.folder, name)):
                    shutil.copy(os.path.join(self.folder, name), kept)
            log = os.path.join(self.primary.folder, 'log') if self.primary else ''
            if os.path.exists(log):
                shutil.copy(log, os.path.join(kept, 'server.log'))
        for server in faults.live_servers(self):
            server.remove()
        self.network.remove()
        shutil.rmtree(self.folder, ignore_errors=True)
        return kept
