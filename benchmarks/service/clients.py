"""Clients in a process of their own: each asks for the same scores again and again, on one connection.

`python -m benchmarks.service.clients HOST PORT TOKEN BODY CLIENTS SECONDS` prints a list of all answers as JSON. BODY
names the file that holds the body of the request.
"""

from __future__ import annotations

import json
import sys
import time
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from threading import Thread

from benchmarks.service.compared import Answer
from benchmarks.service.loads import Target


def ask(target: Target, body: bytes, until: float, answers: list[Answer]) -> None:
    """Ask until it is time."""
    headers = {"authorization": f"Bearer {target.token}", "content-type": "application/json"}
    connection = HTTPConnection(target.host, target.port, timeout=30)
    while (asked := time.monotonic()) < until:
        densities = None
        try:
            connection.request("POST", "/api/v1/model/score", body, headers)
            response = connection.getresponse()
            content = response.read()
            densities = json.loads(content)["log_densities"] if response.status == 200 else None
        except (OSError, HTTPException):
            connection.close()
        answers.append(Answer(asked, time.monotonic(), densities))
    connection.close()


def main(host: str, port: str, token: str, body: str, clients: str, seconds: str) -> None:
    """Ask with many clients at the same time, and print all answers."""
    target = Target(host, int(port), token, Path(body), int(clients))
    content, until = target.body.read_bytes(), time.monotonic() + float(seconds)
    by_client: list[list[Answer]] = [[] for _ in range(target.clients)]
    threads = [Thread(target=ask, args=(target, content, until, answers)) for answers in by_client]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(json.dumps([answer for answers in by_client for answer in answers]))


if __name__ == "__main__":
    main(*sys.argv[1:])
