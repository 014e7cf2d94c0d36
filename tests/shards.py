"""Partitions in shards of this very process, for tests that compare a model learned from them with a local one."""

from copy import deepcopy

import numpy as np

from unlearnspn.cluster.ensemble_shard import EnsembleShard
from unlearnspn.cluster.folder import open_folder
from unlearnspn.cluster.in_process import InProcessShards
from unlearnspn.cluster.model import SharedModel
from unlearnspn.cluster.reading import Part, Reading


def cut(rows, n_parts, rng):
    """Return the places of rows, shuffled and cut into parts, some of which may be empty."""
    places = rng.permutation(rows)
    ends = np.sort(rng.integers(0, rows + 1, n_parts - 1))
    return np.split(places, ends)


def in_shards(parts, n_shards):
    """Return shards that share partitions: tables, or pairs of a table and its classes."""
    parts = [Part(number, *(part if isinstance(part, tuple) else (part,))) for number, part in enumerate(parts)]
    shards = [EnsembleShard(number) for number in range(n_shards)]
    for part in parts:
        shards[part.number % n_shards].add(part)
    return InProcessShards(shards)


def fit_in_shards(estimator, parts, n_shards, id_column="id", target=None):
    """Fit an estimator to partitions; returns it."""
    shards = in_shards(parts, n_shards)
    estimator._fit_shards(shards, Reading(id_column, target, deepcopy(estimator.categorical_features)))
    return estimator


def load_in_shards(path, n_shards, load=SharedModel.load):
    """Return the model that lies in a folder."""
    return load(open_folder(path, ()), InProcessShards([EnsembleShard(number) for number in range(n_shards)]))


def estimator_in_shards(estimator_class, path, n_shards):
    """Return the estimator that lies in a folder."""
    model, document = load_in_shards(path, n_shards, estimator_class._load_engine), open_folder(path, ()).extra
    estimator = estimator_class(**document["parameters"])
    estimator._restore(model, document)
    return estimator
