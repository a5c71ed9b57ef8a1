"""A proxy between the feeder and the server, which loses answers, is slow, or lets nothing through."""

import select
import socket
import struct
import threading
import time

from common import free_port


class Proxy:
    """Listens on a port of its own; its target may change. Faults are switched on and off while it runs."""

    def __init__(self):
        self.port, self.listener = free_port(), None
        self.target, self.delay, self.is_open = None, 0.0, True
        self.lock, self.commits_to_lose, self.lost, self.pairs = threading.Lock(), 0, 0, set()
        self.lateness = 0.0

    def lead_to(self, target):
        """Passes new connections to an address; without one it refuses them, as a host without a server does."""
        self.target = target
        if target and not self.listener:
            self.listener = socket.create_server(('127.0.0.1', self.port))
            threading.Thread(target=self.accept, args=(self.listener,), daemon=True).start()
        elif not target and self.listener:
            # A close alone would not wake who waits in accept.
            self.listener.shutdown(socket.SHUT_RDWR)
            self.listener.close()
            self.listener = None

    def lose_commits(self, count, lateness=0.0):
        """The answers to the next `count` COMMITs get lost, and the connection with them. If they are late as well, the
        server gets them so many seconds after the client has lost its connection."""
        with self.lock:
            self.commits_to_lose += count
            self.lateness = lateness

    def cut(self):
        """Ends all connections."""
        with self.lock:
            pairs, self.pairs = self.pairs, set()
        for pair in pairs:
            for end in pair:
                try:
                    end.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass

    def accept(self, listener):
        while True:
            try:
                near, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=self.carry, args=(near,), daemon=True).start()

    def carry(self, near):
        try:
            far = socket.create_connection(self.target or ('127.0.0.1', 1), timeout=5)
        except OSError:
            near.close()
            return
        far.settimeout(None)
        pair = (near, far)
        with self.lock:
            self.pairs.add(pair)
        try:
            self.pump(near, far)
        except OSError:
            pass
        with self.lock:
            self.pairs.discard(pair)
        near.close()
        far.close()

    def pump(self, near, far):
        watch = CommitWatch()
        is_losing = False
        while True:
            ready, _, _ = select.select([near, far], [], [], 0.5)
            while not self.is_open:
                time.sleep(0.02)
            if near in ready:
                data = near.recv(65536)
                if not data:
                    return
                if watch.has_commit(data) and self.take_commit():
                    is_losing = True
                    if self.lateness:
                        near.shutdown(socket.SHUT_RDWR)
                        time.sleep(self.lateness)
                far.sendall(data)
            if is_losing:
                self.swallow(far)
                return
            if far in ready:
                data = far.recv(65536)
                if not data:
                    return
                if self.delay:
                    time.sleep(self.delay)
                near.sendall(data)

    def swallow(self, far):
        """Waits until the server has answered: the transaction is over there, and nobody hears of it."""
        swallowed = b''
        while b'COMMIT\0' not in swallowed and b'ROLLBACK\0' not in swallowed:
            data = far.recv(65536)
            if not data:
                break
            swallowed += data
        self.lost += 1

    def take_commit(self):
        with self.lock:
            if self.commits_to_lose == 0:
                return False
            self.commits_to_lose -= 1
            return True


class CommitWatch:
    """Follows the messages of a client, to find those that commit, in whatever pieces they come."""

    def __init__(self):
        self.rest, self.is_first, self.prepared = b'', True, set()

    def has_commit(self, data):
        self.rest += data
        found = False
        while True:
            head = 4 if self.is_first else 5
            if len(self.rest) < head:
                return found
            length = struct.unpack('!i', self.rest[head - 4:head])[0] + head - 4
            if len(self.rest) < length:
                return found
            message, self.rest = self.rest[:length], self.rest[length:]
            if self.is_first:
                # A request for encryption comes before the start of the session.
                self.is_first = struct.unpack('!i', message[4:8])[0] in (80877103, 80877104)
            else:
                found = self.commits(message[:1], message[5:]) or found

    def commits(self, kind, body):
        """Whether a message commits: as a text, or by a statement that was prepared with it."""
        if kind == b'Q':
            return b'COMMIT' in body.upper()
        if kind == b'P':
            name, text = body.split(b'\0')[:2]
            (self.prepared.add if b'COMMIT' in text.upper() else self.prepared.discard)(name)
        return kind == b'B' and body.split(b'\0')[1] in self.prepared
