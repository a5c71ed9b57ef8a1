"""PostgreSQL's protocol, as much of it as a watcher needs: simple queries, texts as answers, time limits.

Independent of libpq on purpose: what the feeder uses is not what it is checked with.
"""

import socket
import struct


class Refused(Exception):
    """An error that the server has sent."""

    def __init__(self, state, text):
        super().__init__(f'{state}: {text}')
        self.state = state


class Client:
    """One connection over a Unix socket. Any failure leaves it closed, and the next query connects again."""

    def __init__(self, path, user='quire', database='postgres', limit=10):
        self.path, self.user, self.database, self.limit = path, user, database, limit
        self.socket, self.file = None, None

    def connect(self):
        self.close()
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(self.limit)
        self.socket.connect(self.path)
        self.file = self.socket.makefile('rb')
        words = ['user', self.user, 'database', self.database, 'application_name', 'watcher', '']
        body = struct.pack('!i', 196608) + b'\0'.join(word.encode() for word in words) + b'\0'
        self.socket.sendall(struct.pack('!i', len(body) + 4) + body)
        self.answer()

    def close(self):
        if self.socket:
            self.file.close()
            self.socket.close()
        self.socket = None

    def message(self):
        head = self.file.read(5)
        if len(head) < 5:
            raise ConnectionError('the server has closed the connection')
        kind, length = struct.unpack('!ci', head)
        body = self.file.read(length - 4)
        if len(body) < length - 4:
            raise ConnectionError('the server has closed the connection')
        return kind, body

    def answer(self):
        """All rows up to ReadyForQuery; of several statements those of the last one that had some."""
        rows, error = [], None
        while True:
            kind, body = self.message()
            if kind == b'T':
                rows = []
            elif kind == b'D':
                rows.append(self.fields(body))
            elif kind == b'E':
                parts = {part[:1]: part[1:].decode() for part in body.split(b'\0') if part}
                error = Refused(parts.get(b'C', '?'), parts.get(b'M', '?'))
                if parts.get(b'S') in ('FATAL', 'PANIC'):
                    raise error
            elif kind == b'R' and struct.unpack('!i', body[:4])[0] != 0:
                raise ConnectionError('the server asks for a password')
            elif kind == b'Z':
                if error:
                    raise error
                return rows

    @staticmethod
    def fields(body):
        values, place = [], 2
        for _ in range(struct.unpack('!h', body[:2])[0]):
            length = struct.unpack('!i', body[place:place + 4])[0]
            place += 4
            values.append(None if length < 0 else body[place:place + length].decode())
            place += max(length, 0)
        return values

    def ask(self, text):
        """The rows of a query. `Refused`, `OSError` or `ConnectionError` if there is no answer."""
        try:
            if not self.socket:
                self.connect()
            body = text.encode() + b'\0'
            self.socket.sendall(b'Q' + struct.pack('!i', len(body) + 4) + body)
            return self.answer()
        except Refused as refused:
            if refused.state.startswith('57P') or refused.state.startswith('08'):
                self.close()
            raise
        except OSError:
            self.close()
            raise
