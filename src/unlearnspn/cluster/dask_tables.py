"""Tables of Dask: which partitions there are, where they lie, and answers partition by partition."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import dask.dataframe as dd
from dask.delayed import delayed
from distributed import Client, Future, futures_of, get_client, wait

from unlearnspn.cluster.dask_shards import DaskShards
from unlearnspn.cluster.reading import Reading
from unlearnspn.errors import InvalidTableError, NotOnAClusterError, RecordIdError, WorkerLostError, listing
from unlearnspn.estimators.targets import target_name
from unlearnspn.tables import open_table
from unlearnspn.tables.names import Label, read_label


def spread(table: Any, ids: Any, classes: Any, categorical_features: Any) -> tuple[DaskShards, Reading]:
    """Have the partitions of a table loaded where Dask puts them, and a shard on each worker that has some."""
    if not isinstance(table, dd.DataFrame):
        raise NotOnAClusterError(f"X is a {type(table).__name__} of Dask: pass a dask.dataframe.DataFrame")
    reading = Reading(
        _id_column(table, ids),
        None if classes is None else target_name(classes, open_table(table._meta)),
        categorical_features,
    )
    client = find_client()
    parts = _compute(client, table, [_in_one(*part) for part in zip(*_delayed(table, classes), strict=True)])
    wait(parts)
    by_worker: dict[str, list[tuple[int, Any]]] = {}
    for number, (part, worker) in enumerate(zip(parts, _places(client, parts), strict=True)):
        by_worker.setdefault(worker, []).append((number, part.key))
    shards = DaskShards(client, list(by_worker))
    shards.add(list(by_worker.values()))
    return shards, reading


def shards_on(client: Client, most: int) -> DaskShards:
    """Return a shard on each worker, or on as many as there is work for."""
    return DaskShards(client, _workers(client)[: max(most, 1)])


def _workers(client: Client) -> list[str]:
    workers = sorted(client.nthreads())
    if not workers:
        raise NotOnAClusterError("the cluster has no workers: start some, or wait for them (Client.wait_for_workers)")
    return workers


def _compute(client: Client, table: dd.DataFrame, parts: list[Any]) -> list[Any]:
    """Have partitions loaded: as many by each worker, unless they are somewhere already."""
    if futures_of(table):
        loaded: list[Any] = client.compute(parts)
        return loaded
    workers = _workers(client)
    # A worker may have been lost a moment ago: then another one loads its share.
    by_worker = [
        client.compute(parts[place :: len(workers)], workers=[worker], allow_other_workers=True)
        for place, worker in enumerate(workers)
    ]
    return [by_worker[number % len(workers)][number // len(workers)] for number in range(len(parts))]


def find_client() -> Client:
    """Return the client that was made last."""
    try:
        client: Client = get_client()
    except ValueError:
        raise NotOnAClusterError(
            "there is no connection to a cluster: make one with distributed.Client(address) first, or pass X.compute()"
        ) from None
    return client


def _id_column(table: dd.DataFrame, ids: Any) -> Label:
    if ids is None:
        return None
    columns = [read_label(column) for column in table.columns]
    if isinstance(ids, str) or (isinstance(ids, Hashable) and read_label(ids) in columns):
        label = read_label(ids)
        if label not in columns:
            raise InvalidTableError(f"there is no column {ids!r} for the ids; the table has {listing(columns)}")
        return label
    raise RecordIdError("the ids of a table of Dask are those of one of its columns: pass its name")


def _delayed(table: dd.DataFrame, classes: Any) -> list[list[Any]]:
    """Return the partitions, and their classes if there are any."""
    if classes is None:
        return [table.to_delayed()]
    if not isinstance(classes, dd.Series):
        raise InvalidTableError("y must be a dask.dataframe.Series where X is a dask.dataframe.DataFrame")
    if classes.npartitions != table.npartitions:
        raise InvalidTableError(f"X has {table.npartitions} partitions, but y has {classes.npartitions}")
    return [table.to_delayed(), classes.to_delayed()]


@delayed
def _in_one(*part: Any) -> tuple[Any, ...]:
    """Return a partition and its classes, so that both are on one worker."""
    return part


def _places(client: Client, futures: list[Future[Any]]) -> list[str]:
    """Return the worker on which each partition is, or raise what kept one from being loaded."""
    for future in futures:
        if future.status == "error":
            future.result()
    known = client.who_has(futures)
    places = [min(known.get(future.key, ()), default="") for future in futures]
    if "" in places:
        raise WorkerLostError("a worker of the cluster was lost while the table was loaded: fit again")
    return places
