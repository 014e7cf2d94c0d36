"""A service in a process of its own, as users start it."""

import os
import re
import signal
import subprocess
import sys
from contextlib import contextmanager

import httpx2

from unlearnspn.service.desk_service import DeskService
from unlearnspn.service.roles import SCOPES_OF_TOKENS

_STARTED = re.compile(r"(https?://\S+) serves ")


def token_for(path, name="crm", scopes=SCOPES_OF_TOKENS):
    """Make a token for a vault, before it is served."""
    service = DeskService.open(path)
    try:
        return service.tokens.add(name, [scope.value for scope in scopes], 30, "anna")[1]
    finally:
        service.close()


class Served:
    """A running service."""

    def __init__(self, path, *options):
        command = [sys.executable, "-m", "unlearnspn.cli", "serve", str(path), "--port", "0", *options]
        environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
        )
        line = self.process.stdout.readline()
        started = _STARTED.match(line)
        if started is None:
            self.process.kill()
            raise AssertionError(f"the service did not start: {line}{self.process.stderr.read()}")
        self.url = started[1]

    def api(self, token):
        """Return a client of its API."""
        return httpx2.Client(base_url=f"{self.url}/api/v1", headers={"authorization": f"Bearer {token}"}, timeout=30)

    def kill(self):
        """End it at once, wherever it is."""
        self.process.kill()
        self.process.communicate()

    def end(self):
        """End it as Ctrl-C does; return its exit code, and what it printed to stderr."""
        self.process.send_signal(signal.SIGINT)
        _, errors = self.process.communicate(timeout=30)
        return self.process.returncode, errors


@contextmanager
def serving(path, *options):
    """Serve a vault for a while."""
    served = Served(path, *options)
    try:
        yield served
    finally:
        if served.process.poll() is None:
            served.kill()
