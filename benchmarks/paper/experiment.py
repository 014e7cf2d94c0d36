"""The experiment from one end to the other."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from statistics import fmean

from benchmarks.datasets import load
from benchmarks.paper import large_training, likelihood, many_rows, removal, training
from benchmarks.paper.peer_trials import PeerTrials
from benchmarks.paper.plan import SETTINGS, Plan
from benchmarks.paper.samples import Sample, Source
from benchmarks.peers.libraries import DEEPROB_KIT, SPFLOW
from benchmarks.progress import Bar
from benchmarks.reports import Section

NAME = "paper"


def measure(plan: Plan, bar: Bar) -> Iterator[Section]:
    """Measure removals, training, training on many rows and on whole splits, and likelihood."""
    with ExitStack() as stack:
        trials = None
        if plan.peers:
            trials = stack.enter_context(PeerTrials(plan.environments, plan.peer_trainings))
        yield from _removals_and_training(plan, trials, bar)
        yield from _many_rows(plan, trials, bar)
        yield from _large_training(plan, trials, bar)
        yield from _likelihood(plan, trials, bar)


def _removals_and_training(plan: Plan, trials: PeerTrials | None, bar: Bar) -> Iterator[Section]:
    removals = removal.new_section(plan.removals, plan.peer_trainings if trials else None)
    trainings = training.new_section()
    for name in plan.removal_data:
        samples = _samples(plan, name)
        races = None if trials is None else _race(name, samples, trials, bar)
        spflow = None if races is None else [fmean(each.spflow) for each in races]
        bar.begin(f"{name}: removing and retraining", len(SETTINGS) * len(samples))
        for setting, make in SETTINGS.items():
            runs, times = [], []
            for sample in samples:
                runs.append(removal.remove_one_by_one(sample, make, plan.removals))
                times.append(training.time_training(sample, make))
                bar.step()
            removals.rows.append(removal.as_row(name, setting, runs, spflow))
            trainings.rows.append(training.as_row(name, setting, times, races))
    yield removals
    yield trainings


def _race(name: str, samples: list[Sample], trials: PeerTrials, bar: Bar) -> list[training.Race]:
    bar.begin(f"{name}: SPFlow trains", len(samples))
    races = []
    for sample in samples:
        races.append(training.race(sample, trials))
        bar.step()
    return races


def _many_rows(plan: Plan, trials: PeerTrials | None, bar: Bar) -> Iterator[Section]:
    if plan.quick or many_rows.DATA not in plan.removal_data:
        return
    section = many_rows.new_section()
    bar.begin("training on many rows", 1)
    sample = Source.of(load(many_rows.DATA, plan.folder)).sample(seed=0, n_rows=many_rows.N_MANY)
    section.rows.append(many_rows.compare(sample, trials.worker(SPFLOW) if trials else None))
    bar.step()
    yield section


def _large_training(plan: Plan, trials: PeerTrials | None, bar: Bar) -> Iterator[Section]:
    section, names = large_training.new_section(), large_training.problems_at_hand(plan.folder)
    bar.begin("training on whole splits", len(names))
    for name in names:
        assert plan.folder is not None
        problem = large_training.Problem.load(plan.folder, name)
        section.rows += large_training.compare(problem, trials.worker(DEEPROB_KIT) if trials else None)
        bar.step()
    if section.rows:
        yield section


def _likelihood(plan: Plan, trials: PeerTrials | None, bar: Bar) -> Iterator[Section]:
    section = likelihood.new_section()
    bar.begin("held-out likelihood", len(plan.likelihood_data))
    for name in plan.likelihood_data:
        section.rows.append(likelihood.as_row(name, _samples(plan, name), trials))
        bar.step()
    if section.rows:
        yield section


def _samples(plan: Plan, name: str) -> list[Sample]:
    source = Source.of(load(name, plan.folder))
    return [source.sample(seed) for seed in range(plan.seeds)]
