"""A cluster of Dask on this machine. No other module of this benchmark imports Dask."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import dask.dataframe as dd
import pandas as pd
from distributed import Client, LocalCluster

from benchmarks.cluster.learning import Traffic
from benchmarks.memory import peak_bytes
from unlearnspn import SPN
from unlearnspn.cluster.dask_shards import DaskShards


@contextmanager
def open_cluster(n_workers: int) -> Iterator[OnWorkers]:
    """Start so many processes of one thread each, without a limit from which on they would write to the disk."""
    with (
        LocalCluster(
            n_workers=n_workers,
            threads_per_worker=1,
            processes=True,
            dashboard_address=None,
            memory_limit=0,
            # Without a dashboard the scheduler asks for the port of one all the same, which others may have.
            scheduler_kwargs={"dashboard_address": "127.0.0.1:0"},
        ) as cluster,
        Client(cluster) as client,
    ):
        client.wait_for_workers(n_workers)
        yield OnWorkers(client)


def cut(frame: pd.DataFrame, n_partitions: int) -> dd.DataFrame:
    """Return a frame as a table of Dask, its rows in their order."""
    table: dd.DataFrame = dd.from_pandas(frame, npartitions=n_partitions, sort=False)
    return table


class OnWorkers:
    """The workers of a cluster."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def read(self, folder: Path) -> Any:
        """Return a table that workers will read."""
        return dd.read_parquet(folder)

    def worker_peaks(self) -> list[int | None]:
        """Return the most bytes that each worker ever held."""
        return list(self._client.run(peak_bytes).values())

    def traffic_of(self, spn: SPN) -> Traffic | None:
        """Return what went to and fro so far."""
        model: Any = spn._model
        shards: DaskShards = model.records.shards
        return Traffic(shards.n_rounds, shards.n_bytes, shards.most_bytes)
