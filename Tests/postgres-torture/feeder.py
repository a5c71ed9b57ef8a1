"""The process under torture: a writer and a feeder over one database file."""

import glob
import os
import re
import shutil
import signal
import subprocess
import tempfile

from common import Failure, root, until

# What a feeder ends with when the sink belongs to somebody else.
another_feeder, foreign_cursor = 3, 4


class Feeder:
    """One database file, and the process that has it open."""

    def __init__(self, program, folder, name, servers):
        self.program, self.folder, self.servers = program, folder, servers
        self.file = os.path.join(folder, f'{name}.quire')
        self.log = os.path.join(folder, f'{name}.log')
        self.process, self.starts = None, 0

    def connection(self, is_direct=False):
        """All servers, through their proxies or without them."""
        hosts = [(server.host, server.port) if is_direct else ('127.0.0.1', proxy.port)
                 for server, proxy in self.servers()]
        names, ports = ','.join(host for host, _ in hosts), ','.join(str(port) for _, port in hosts)
        return (f'host={names} port={ports} user=quire dbname=postgres target_session_attrs=read-write '
                'connect_timeout=2 tcp_user_timeout=2000 keepalives_idle=1 keepalives_interval=1 '
                'keepalives_count=2 sslmode=disable application_name=feeder')

    # MARK: Its process

    def start(self, seed, *more, is_direct=False, preload=None):
        """Starts writer and feeder."""
        self.starts += 1
        command = [self.program, 'torture', self.file, self.connection(is_direct), '--seed', str(seed),
                   '--max-pause-ms', '2000', *more]
        environment = dict(os.environ, **(preload or {}))
        with open(self.log, 'ab') as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log, env=environment)

    def start_command(self, *arguments):
        """Starts one command of the tool as the process."""
        with open(self.log, 'ab') as log:
            self.process = subprocess.Popen([self.program, *arguments], stdout=log, stderr=log)

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def pause(self):
        self.process.send_signal(signal.SIGSTOP)

    def go_on(self):
        self.process.send_signal(signal.SIGCONT)

    def has_ended(self):
        return self.process.poll() is not None

    def ended(self, limit=30):
        """What it ends with by itself."""
        try:
            return self.process.wait(limit)
        except subprocess.TimeoutExpired:
            return None

    def finish(self):
        """Has the writer stop."""
        self.process.terminate()
        if self.ended(30) != 0:
            self.kill()
            raise Failure(f'the writer does not end well when it is told to: status {self.process.returncode}\n'
                          + self.last_words())

    def last_words(self):
        with open(self.log, errors='replace') as file:
            return file.read()[-1500:]

    def next_figures(self, count=1):
        """What the writer says of its commits from now on: of the `count`th line their number, and what 99 of 100 took
        at most, in ms."""
        with open(self.log, errors='replace') as file:
            file.seek(0, os.SEEK_END)
            lines, said = [], ''

            def has_come():
                nonlocal lines, said
                # The feeder may say more in a second than anybody asks for line by line.
                said += file.read()
                lines = re.findall(r'writer n=(\d+) p50=\d+ p99=(\d+) .*\n', said)
                return len(lines) >= count
            until('the writer tells how long its commits take', has_come, 30)
        return int(lines[count - 1][0]), int(lines[count - 1][1]) / 1000

    def mark(self):
        """The place in its log behind all that it has said."""
        return os.path.getsize(self.log) if os.path.exists(self.log) else 0

    def has_begun_anew(self, mark):
        """Whether it has said, behind a mark, that it takes over all rows."""
        with open(self.log, errors='replace') as file:
            file.seek(mark)
            return re.search(r'^begins ', file.read(), re.MULTILINE) is not None

    def memory(self):
        """The most that it has taken, in MiB."""
        with open(f'/proc/{self.process.pid}/status') as file:
            return next(int(line.split()[1]) >> 10 for line in file if line.startswith('VmHWM'))

    # MARK: Other commands of the tool

    def run(self, *arguments, limit=120):
        """One command; its status and what it says."""
        with tempfile.TemporaryFile('w+') as output:
            process = subprocess.Popen([self.program, *arguments], stdout=output, stderr=output, text=True)
            try:
                status = process.wait(limit)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
                status = 'none'
            output.seek(0)
            return status, output.read()

    def checked(self, *arguments, limit=120):
        status, text = self.run(*arguments, limit=limit)
        if status != 0:
            raise Failure(f'{arguments[0]} ends with {status}: {text[-2000:]}')
        return text

    # MARK: Its files

    def files(self):
        return [path for path in glob.glob(self.file + '*') if os.path.isfile(path)]

    def copy(self, name):
        """Another feeder over a copy of the files, as `cp` makes it while nobody has them open."""
        other = Feeder(self.program, self.folder, name, self.servers)
        for path in self.files():
            shutil.copyfile(path, other.file + path[len(self.file):])
        return other

    def remove(self):
        for path in self.files():
            os.remove(path)


class PowerCut:
    """Keeps, beside the files of a feeder, what of them a disk has for certain: their bytes as of their last syncs."""

    library = None

    def __init__(self, feeder):
        self.feeder = feeder
        self.shadow = os.path.join(feeder.folder, 'shadow')
        shutil.rmtree(self.shadow, ignore_errors=True)
        os.mkdir(self.shadow)
        for path in feeder.files():
            shutil.copyfile(path, os.path.join(self.shadow, str(os.stat(path).st_ino)))
        if not PowerCut.library:
            PowerCut.library = os.path.join(feeder.folder, 'shadow.so')
            compiler = shutil.which('clang') or shutil.which('cc')
            source = os.path.join(root, 'Tests/postgres-torture/shadow.c')
            flags = ['-shared', '-fPIC', '-O1', '-Wall', '-Wextra', '-Werror']
            subprocess.run([compiler, *flags, '-o', PowerCut.library, source, '-ldl'], check=True)

    @property
    def environment(self):
        return {'LD_PRELOAD': PowerCut.library, 'QUIRE_SHADOW_FOLDER': self.shadow,
                'QUIRE_SHADOW_FILES': self.feeder.file}

    def cut(self):
        """Kills the process and takes from its files what no sync has covered."""
        self.feeder.kill()
        for path in self.feeder.files():
            kept = os.path.join(self.shadow, str(os.stat(path).st_ino))
            if os.path.exists(kept):
                shutil.copyfile(kept, path)
            else:
                os.truncate(path, 0)
