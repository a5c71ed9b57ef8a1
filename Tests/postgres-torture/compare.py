"""Whether the sink has what the file has, by the tool's own comparison and by one that knows nothing of it."""

import hashlib
import json
import subprocess

from common import Failure, expect

BINARIES = '/usr/lib/postgresql/15/bin'


def psql(server, text):
    """The rows of a query, as psql writes them."""
    command = [f'{BINARIES}/psql', '-h', server.folder, '-p', str(server.port), '-U', 'quire', '-d', 'postgres',
               '-XAt', '-F', '\t', '-v', 'ON_ERROR_STOP=1', '-c', text]
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode != 0:
        raise Failure(f'psql: {result.stderr.strip()}')
    return [line.split('\t') for line in result.stdout.split('\n') if line]


def stored_rows(feeder):
    """Hashes of the bytes of the rows of the file, and what they say, by collection and key."""
    rows = {}
    for line in feeder.checked('rows', feeder.file).splitlines():
        collection, key, content, value = line.split('\t')
        digest = hashlib.md5(bytes.fromhex(content)).hexdigest()
        rows[json.loads(collection), json.loads(key)] = digest, plain(json.loads(value))
    return rows


def plain(value):
    """What JSON cannot say is spelled out in a file's rows, and a text in PostgreSQL's."""
    if isinstance(value, dict) and list(value) == ['$double']:
        return {'nan': 'NaN', 'inf': 'Infinity', '-inf': '-Infinity'}[value['$double']]
    return {name: plain(field) for name, field in value.items()} if isinstance(value, dict) else value


def mirrored_rows(server):
    """The same of what the sink has: of the rows of its tables, and of rows that were set aside, which say nothing."""
    rows, aside = {}, {}
    for collection, table in psql(server, 'SELECT name, table_name FROM quire_collection'):
        quoted = '"' + table.replace('"', '""') + '"'
        for key, digest, value in psql(server, f'SELECT to_json(key), md5(raw), object FROM {quoted}'):
            rows[collection, json.loads(key)] = digest, json.loads(value)
    # Names and keys may be what no text of PostgreSQL can hold.
    columns = "encode(collection_bytes, 'hex'), encode(key_bytes, 'hex'), md5(raw)"
    for collection, key, digest in psql(server, f'SELECT {columns} FROM quire_rejected'):
        aside[bytes.fromhex(collection).decode(), bytes.fromhex(key).decode()] = digest
    return rows, aside


def compare(feeder, server):
    """The number of rows, and of those that were set aside, if all are equal."""
    status, text = feeder.run('verify', feeder.file, feeder.connection())
    expect(status == 0, f'verify ends with {status}: {text[-2000:]}')
    stored = stored_rows(feeder)
    mirrored, aside = mirrored_rows(server)
    both = set(mirrored) & set(aside)
    expect(not both, f'rows are mirrored and set aside: {sorted(both)[:5]}')
    found = set(mirrored) | set(aside)
    missing, strange = set(stored) - found, found - set(stored)
    other = [key for key, row in stored.items() if mirrored.get(key, row) != row or aside.get(key, row[0]) != row[0]]
    expect(not missing and not strange and not other,
           f'{len(missing)} rows are missing, {len(strange)} are too many, {len(other)} are others: '
           f'{sorted(missing)[:5]} {sorted(strange)[:5]} {sorted(other)[:5]}')
    return len(mirrored), len(aside)
