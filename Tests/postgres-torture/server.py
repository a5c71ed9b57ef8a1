"""A PostgreSQL of one's own: made, started, crashed, filled up, copied to a standby that may lag and take over."""

import os
import pwd
import shutil
import signal
import subprocess
import time

from common import Failure, free_port, is_root, until
from wire import Client, Refused

BINARIES = '/usr/lib/postgresql/15/bin'
USER = 'quire'
SETTINGS = {
    'shared_buffers': '32MB', 'max_wal_size': '32MB', 'min_wal_size': '2MB', 'wal_keep_size': '16MB',
    'wal_level': 'replica', 'max_wal_senders': '4', 'hot_standby': 'on', 'wal_receiver_status_interval': '1s',
    'wal_retrieve_retry_interval': '200ms', 'autovacuum_naptime': '5s', 'log_min_messages': 'warning',
    'max_parallel_workers': '0', 'restart_after_crash': 'on',
    # A process that is killed while its backend stands still, or behind an unplugged wire, leaves a connection that the
    # server takes for alive until it has asked.
    'max_connections': '100', 'tcp_keepalives_idle': '2', 'tcp_keepalives_interval': '1', 'tcp_keepalives_count': '3',
}


def as_server(command, **more):
    """Runs a command as the user that servers run as: initdb and postgres refuse root."""
    if is_root:
        command = ['setpriv', '--reuid=postgres', '--regid=postgres', '--init-groups'] + command
    return subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, cwd='/', **more)


def checked(command, **more):
    result = as_server(command, **more)
    if result.returncode != 0:
        raise Failure(f'{os.path.basename(command[0])} failed: {result.stderr.strip()[-600:]}')


class Network:
    """A network namespace with a wire into it that can be unplugged; none where the kernel or the user forbids that."""

    def __init__(self, number):
        self.name, self.address, self.near = f'quire-{number}', None, f'qw{number}'
        self.works = is_root and shutil.which('ip') is not None and self.make(number % 200 + 20)

    def make(self, number):
        far = f'{self.near}p'
        steps = [
            f'netns add {self.name}', f'link add {self.near} type veth peer name {far}',
            f'link set {far} netns {self.name}',
            f'addr add 10.211.{number}.1/24 dev {self.near}', f'link set {self.near} up',
            f'-n {self.name} addr add 10.211.{number}.2/24 dev {far}', f'-n {self.name} link set {far} up',
            f'-n {self.name} link set lo up',
        ]
        for step in steps:
            if subprocess.run(['ip'] + step.split(), stderr=subprocess.DEVNULL).returncode != 0:
                self.remove()
                return False
        self.address = f'10.211.{number}.2'
        return True

    def inside(self, command):
        return ['ip', 'netns', 'exec', self.name] + command if self.works else command

    def plug(self, is_plugged):
        subprocess.run(['ip', 'link', 'set', self.near, 'up' if is_plugged else 'down'], check=True)

    def remove(self):
        for step in [f'link del {self.near}', f'netns del {self.name}']:
            subprocess.run(['ip'] + step.split(), stderr=subprocess.DEVNULL)


class Server:
    """One cluster in a folder, on a file system of its own where that can be mounted."""

    def __init__(self, folder, network, disk_mebibytes=192):
        self.folder, self.network, self.port = folder, network, free_port()
        self.data, self.ballast = os.path.join(folder, 'data'), os.path.join(folder, 'ballast')
        self.is_mounted = False
        os.makedirs(folder)
        if is_root:
            mount = ['mount', '-t', 'tmpfs', '-o', f'size={disk_mebibytes}m', 'tmpfs', folder]
            self.is_mounted = subprocess.run(mount, stderr=subprocess.DEVNULL).returncode == 0
            os.chown(folder, *pwd.getpwnam('postgres')[2:4])
            os.chmod(folder, 0o755)
        self.client = Client(os.path.join(folder, f'.s.PGSQL.{self.port}'))

    @property
    def host(self):
        return self.network.address or '127.0.0.1'

    # MARK: Its life

    def make(self):
        checked([f'{BINARIES}/initdb', '-D', self.data, '-A', 'trust', '-U', USER, '--locale=C.UTF-8',
                 '--wal-segsize=1', '--no-sync'])
        self.let_in()

    def let_in(self):
        with open(os.path.join(self.data, 'pg_hba.conf'), 'w') as file:
            file.write('local all all trust\nhost all all 127.0.0.1/32 trust\nhost all all 10.211.0.0/16 trust\n'
                       'local replication all trust\nhost replication all 127.0.0.1/32 trust\n')

    def start(self):
        addresses = f'{self.host},127.0.0.1' if self.network.works else '127.0.0.1'
        settings = {**SETTINGS, 'listen_addresses': addresses, 'unix_socket_directories': self.folder}
        words = [f'-p {self.port}'] + [f'-c {name}={value}' for name, value in settings.items()]
        command = [f'{BINARIES}/pg_ctl', '-D', self.data, '-w', '-t', '60', '-l', os.path.join(self.folder, 'log'),
                   '-o', ' '.join(words), 'start']
        if is_root:
            command = ['setpriv', '--reuid=postgres', '--regid=postgres', '--init-groups'] + command
        result = subprocess.run(
            self.network.inside(command), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd='/')
        return result.returncode == 0

    def started(self):
        if not self.start():
            raise Failure(f'the server does not start: {self.last_words()}')

    def last_words(self):
        try:
            with open(os.path.join(self.folder, 'log')) as file:
                return file.read()[-800:]
        except OSError:
            return 'it has no log'

    def process(self):
        """The number of its first process; nil if it has none."""
        try:
            with open(os.path.join(self.data, 'postmaster.pid')) as file:
                number = int(file.readline())
            os.kill(number, 0)
            return number
        except (OSError, ValueError):
            return None

    def crash(self):
        self.client.close()
        as_server([f'{BINARIES}/pg_ctl', '-D', self.data, '-w', '-m', 'immediate', 'stop'])

    def remove(self):
        if self.process():
            self.crash()
        if self.is_mounted:
            # Processes that have been told to end may hold it a moment longer.
            for _ in range(50):
                if subprocess.run(['umount', self.folder], stderr=subprocess.DEVNULL).returncode == 0:
                    break
                time.sleep(0.1)
        shutil.rmtree(self.folder, ignore_errors=True)

    # MARK: What becomes of it

    def backends(self):
        """The processes that serve others than the watcher."""
        rows = self.client.ask("SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend' "
                               "AND application_name <> 'watcher'")
        return [int(row[0]) for row in rows]

    def terminate_backends(self):
        for number in self.backends():
            self.client.ask(f'SELECT pg_terminate_backend({number})')

    def stop_backends(self):
        """Stops them, as a machine that stands still does; returns what goes on with them."""
        numbers = self.backends()
        for number in numbers:
            os.kill(number, signal.SIGSTOP)

        def go_on():
            for number in numbers:
                try:
                    os.kill(number, signal.SIGCONT)
                except ProcessLookupError:
                    pass
        return go_on

    def fill_disk(self):
        """Leaves it no byte."""
        file = os.open(self.ballast, os.O_WRONLY | os.O_CREAT)
        for size in (1 << 20, 4096):
            try:
                while True:
                    os.write(file, b'\0' * size)
            except OSError:
                pass
        os.close(file)

    def clear_disk(self):
        try:
            os.remove(self.ballast)
        except FileNotFoundError:
            pass
        # The server may have given up when it could not write its log, or be about to.
        time.sleep(0.3)
        until('the server is back on a disk with room', lambda: self.process() and self.is_ready() or self.start(), 60)

    def is_ready(self):
        try:
            return self.client.ask('SELECT 1') == [['1']]
        except (OSError, Refused):
            return False

    # MARK: Copies

    def standby(self, folder):
        """A copy that follows this one, started."""
        other = Server(folder, self.network)
        checked([f'{BINARIES}/pg_basebackup', '-h', self.folder, '-p', str(self.port), '-U', USER,
                 '-D', other.data, '-R', '-X', 'stream', '--checkpoint=fast', '--no-sync'])
        other.started()
        streaming = "SELECT 1 FROM pg_stat_replication WHERE state = 'streaming'"
        until('the standby streams', lambda: self.client.ask(streaming))
        return other

    def hold_back(self):
        """A standby that takes in nothing from now on."""
        self.client.ask("ALTER SYSTEM SET primary_conninfo = ''")
        self.client.ask('SELECT pg_reload_conf()')
        # Its processes hear of that one after the other, and one of them may begin another receiver until it does.
        until('the standby is cut off', self.has_no_receiver)

    def has_no_receiver(self):
        """Whether there is none for several times as long as it takes to begin one."""
        for _ in range(15):
            if self.client.ask('SELECT 1 FROM pg_stat_wal_receiver'):
                return False
            time.sleep(0.05)
        return True

    def promote(self):
        checked([f'{BINARIES}/pg_ctl', '-D', self.data, '-w', 'promote'])
        until('the standby has taken over', lambda: self.client.ask('SELECT pg_is_in_recovery()') == [['f']])
