"""What all parts of the torture share."""

import os
import socket
import time

is_root = os.geteuid() == 0
root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


class Failure(Exception):
    """What must not be."""


def expect(condition, message):
    if not condition:
        raise Failure(message)


def free_port():
    with socket.socket() as probe:
        probe.bind(('127.0.0.1', 0))
        return probe.getsockname()[1]


def until(what, body, limit=20):
    """The first true result of `body`, which may fail on the way."""
    end = time.monotonic() + limit
    while True:
        last = None
        try:
            result = body()
            if result:
                return result
        except Failure:
            raise
        except Exception as error:  # A server that is away answers in many ways.
            last = error
        if time.monotonic() > end:
            raise Failure(f'this took more than {limit} s: {what}' + (f' ({last})' if last else ''))
        time.sleep(0.03)
