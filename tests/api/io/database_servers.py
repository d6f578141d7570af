"""Real database servers for tests, from Debian's packages: each in a directory of its own, on a free port of the loopback interface."""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

SECONDS_TO_START = 90


def free_port() -> int:
    """Return a port of the loopback interface on which nothing listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def program(name: str) -> str | None:
    """Return the path of a server's program; PostgreSQL's are not on the search path in Debian."""
    installed = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}")) + sorted(Path("/usr/sbin").glob(name))
    return shutil.which(name) or (str(installed[-1]) if installed else None)


def _user(name: str) -> str | None:
    """Return the account of a server, which does not run as root; None where this process is none of root's."""
    if os.getuid() != 0:
        return None
    with contextlib.suppress(KeyError):
        return pwd.getpwnam(name).pw_name
    return "nobody"


@contextlib.contextmanager
def _running(command: list[str], user: str | None, log: Path, ready: bytes) -> Iterator[None]:
    """Return a context manager in which a server runs that has written that it is ready."""
    with log.open("wb") as output:
        server = subprocess.Popen(command, stdout=output, stderr=output, user=user, cwd=log.parent)
        try:
            _wait(lambda: server.poll() is not None or ready in log.read_bytes())
            if server.poll() is not None:
                raise RuntimeError(f"{command[0]} did not start: {log.read_text(errors='replace')[-2000:]}")
            yield
        finally:
            server.terminate()
            try:
                server.wait(30)
            except subprocess.TimeoutExpired:
                server.kill()
                server.wait()


def _wait(ready: Callable[[], bool]) -> None:
    end = time.monotonic() + SECONDS_TO_START
    while not ready():
        if time.monotonic() > end:
            raise TimeoutError("the server is not ready")
        time.sleep(0.1)


@contextlib.contextmanager
def _directory(user: str | None) -> Iterator[Path]:
    place = Path(tempfile.mkdtemp(prefix="sframe-server-"))
    try:
        if user is not None:
            shutil.chown(place, user)
        yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)


@contextlib.contextmanager
def postgresql() -> Iterator[int]:
    """Return a context manager that gives the port of a PostgreSQL server: database and user ``postgres``, no password."""
    user, port = _user("postgres"), free_port()
    with _directory(user) as place:
        initdb = [str(program("initdb")), "-D", str(place / "data"), "-U", "postgres", "--auth=trust", "--no-sync", "-E", "UTF8", "--locale=C"]
        subprocess.run(initdb, check=True, capture_output=True, user=user, cwd=place, timeout=SECONDS_TO_START)
        settings = {"listen_addresses": "127.0.0.1", "port": port, "unix_socket_directories": place, "fsync": "off", "shared_buffers": "32MB"}
        options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        with _running([str(program("postgres")), "-D", str(place / "data"), *options], user, place / "log", b"ready to accept connections"):
            yield port


@contextlib.contextmanager
def mariadb() -> Iterator[int]:
    """Return a context manager that gives the port of a MariaDB server: database ``test``, user ``root``, no password."""
    user, port = _user("mysql"), free_port()
    with _directory(user) as place:
        data = place / "data"
        install = [str(program("mariadb-install-db")), "--no-defaults", f"--datadir={data}", "--auth-root-authentication-method=normal"]
        subprocess.run([*install, "--skip-test-db"], check=True, capture_output=True, user=user, cwd=place, timeout=SECONDS_TO_START)
        start = place / "start.sql"
        start.write_text("CREATE DATABASE IF NOT EXISTS test CHARACTER SET utf8mb4;\n")
        start.chmod(0o644)
        options = [f"--datadir={data}", f"--port={port}", "--bind-address=127.0.0.1", f"--socket={place}/socket", f"--init-file={start}"]
        small = ["--innodb-buffer-pool-size=64M", "--innodb-flush-log-at-trx-commit=0", "--max-allowed-packet=64M", "--skip-name-resolve"]
        with _running([str(program("mariadbd")), "--no-defaults", *options, *small], user, place / "log", b"ready for connections"):
            yield port
