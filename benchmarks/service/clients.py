"""Clients in a process of their own: each asks for the same scores again and again, on one connection.

`python -m benchmarks.service.clients HOST PORT TOKEN CLIENTS SECONDS < BODY` prints a line of JSON for each answer.
"""

from __future__ import annotations

import json
import sys
import time
from http.client import HTTPConnection, HTTPException
from threading import Thread

from benchmarks.service.answers import Answer


def ask(host: str, port: int, token: str, body: bytes, until: float, answers: list[Answer]) -> None:
    """Ask until it is time."""
    headers = {"authorization": f"Bearer {token}", "content-type": "application/json"}
    connection = HTTPConnection(host, port, timeout=30)
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


def main(host: str, port: str, token: str, clients: str, seconds: str) -> None:
    """Ask with many clients at the same time, and print all answers."""
    body, until = sys.stdin.buffer.read(), time.monotonic() + float(seconds)
    by_client: list[list[Answer]] = [[] for _ in range(int(clients))]
    threads = [Thread(target=ask, args=(host, int(port), token, body, until, answers)) for answers in by_client]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(json.dumps([answer for answers in by_client for answer in answers]))


if __name__ == "__main__":
    main(*sys.argv[1:])
