"""Looks at the sink from outside, all the while: what may never be seen there, however the feeder fares."""

import threading

from common import Failure
from wire import Client, Refused

question = """
SELECT f.csn, f.state,
  (SELECT coalesce(sum((object->>'balance')::bigint), 0) FROM quire_accounts),
  (SELECT coalesce(max(csn), 0) FROM quire_accounts),
  (SELECT string_agg(key || ' ' || csn, ',') FROM quire_accounts)
FROM quire_feed f
"""


class Watcher(threading.Thread):
    """Asks one question again and again, over a connection that no fault touches, and notes the first wrong answer."""

    def __init__(self, server, pause=0.05):
        super().__init__(daemon=True)
        self.server, self.pause = server, pause
        self.lock, self.over, self.is_resting = threading.Lock(), threading.Event(), False
        self.client = Client(server.client.path, limit=5)
        self.looks, self.consistent, self.failure = 0, 0, None
        self.cursor, self.rows, self.forgives_cursor = 0, {}, False

    def run(self):
        while not self.over.wait(self.pause):
            with self.lock:
                if not self.is_resting and not self.failure:
                    try:
                        self.look()
                    except Failure as failure:
                        self.failure = str(failure)
                    except (OSError, Refused):
                        pass

    def look(self):
        answer = self.client.ask(question)
        if not answer:
            return
        if len(answer) != 1:
            raise Failure(f'the sink has {len(answer)} cursors')
        cursor, state, total, newest, versions = answer[0]
        cursor, newest = int(cursor), int(newest)
        self.looks += 1
        if cursor < self.cursor and not self.forgives_cursor:
            raise Failure(f'the cursor has gone back from {self.cursor} to {cursor}')
        if cursor < self.cursor:
            self.forgives_cursor = False
        self.cursor = cursor
        if state == 'consistent':
            self.consistent += 1
            if int(total) != 0:
                raise Failure(f'the balances sum to {total} at cursor {cursor}: that was the state of no commit')
            if newest > cursor:
                raise Failure(f'a row of commit {newest} is there at cursor {cursor}, and came without it')
        self.compare(dict(pair.split(' ') for pair in versions.split(',')) if versions else {})

    def compare(self, versions):
        for key, text in versions.items():
            version = int(text)
            if version < self.rows.get(key, 0):
                raise Failure(f'{key} is of commit {version}, and was of commit {self.rows[key]}')
            self.rows[key] = version

    # MARK: What is told of faults

    def rest(self):
        """Looks away."""
        with self.lock:
            self.is_resting = True
            self.client.close()

    def go_on(self, server=None, forgets=False):
        """Looks again, at another server if there is one; `forgets` if that may be behind."""
        with self.lock:
            if server:
                self.server, self.client = server, Client(server.client.path, limit=5)
            if forgets:
                self.cursor, self.rows = 0, {}
            self.is_resting = False

    def check(self):
        if self.failure:
            raise Failure(self.failure)

    def finish(self):
        self.over.set()
        self.join(10)
        self.check()
