"""People who leave while others ask, and which states of the model that makes."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx2

from benchmarks.service.loads import Removal, States, Target


def remove(target: Target, records: list[str], seconds: float, pause: float) -> list[Removal]:
    """Remove records one by one for some seconds."""
    until = time.monotonic() + seconds
    removals: list[Removal] = []
    url, headers = f"http://{target.host}:{target.port}/api/v1", {"authorization": f"Bearer {target.token}"}
    with httpx2.Client(base_url=url, headers=headers, timeout=60) as client:
        while time.monotonic() < until:
            record, asked = records[len(removals)], time.monotonic()
            body = {"ids": [record], "request_id": str(uuid4()), "ground": "Art. 17(1)(b)"}
            client.post("/removals", json=body).raise_for_status()
            removals.append(Removal(record, asked, time.monotonic()))
            time.sleep(pause)
    return removals


def expected(path: Path, rows: list[dict[str, Any]], removals: list[Removal]) -> States:
    """Return the rows' log-densities before, between and after some removals from a vault."""
    from unlearnspn import Vault  # noqa: PLC0415  # clients, who need nothing of it, start faster
    from unlearnspn.exchange.tables import options_for, rows_for  # noqa: PLC0415
    from unlearnspn.sources import Options, read_json  # noqa: PLC0415

    states = []
    with Vault.open(path, write=True) as vault:
        for removal in [None, *removals]:
            if removal is not None:
                vault.unlearn([removal.record])
            circuit = vault.circuit_
            table, _ = rows_for(circuit, read_json(rows, options_for(circuit, Options())))
            states.append(circuit.score_samples(table).tolist())
    return states
