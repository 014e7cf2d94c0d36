"""All parts, one after another, over all tables and seeds."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import fmean

from benchmarks.alternatives.accounting import DELTA, epsilon_of, require_opendp
from benchmarks.alternatives.attack_scores import CURVE, Success, roc_key
from benchmarks.alternatives.both_versions import Found, Trial, compare
from benchmarks.alternatives.canary import bound_epsilon
from benchmarks.alternatives.costs import Costs, measure_costs
from benchmarks.alternatives.likelihood import mean_log_density, quality_of_samples
from benchmarks.alternatives.membership import Design, attack, attack_default, successes
from benchmarks.alternatives.methods import KEEPING, RETRAINING, UNLEARNING, Method, Trained
from benchmarks.alternatives.plan import MOST_CODES, SYNTHESISER_EPSILON, Plan
from benchmarks.alternatives.private_network import NoiselessTraining, PrivateTraining, PublicTraining
from benchmarks.alternatives.released import COUNT
from benchmarks.alternatives.sisa import Sisa
from benchmarks.alternatives.synthesiser import SMARTNOISE, Synthesising
from benchmarks.alternatives.tables import Split, Table
from benchmarks.figures import Figure, at_most
from benchmarks.peers.environment import SDV, python_of
from benchmarks.progress import Bar
from benchmarks.reports import Column, Row, Section
from benchmarks.timing import Stopwatch

NAME = "alternatives"

_MEANS = ("low", "high", "chance_low", "chance_high", "chance_tpr")
_HEAD = [Column("data", "table"), Column("method", "method", wrap=True)]


def measure(plan: Plan, bar: Bar) -> Iterator[Section]:
    """Measure likelihood, costs, both attacks, and the bound on ε; what is not at hand is known before any training."""
    require_opendp()
    pythons = _Pythons(plan)
    parts: dict[str, Callable[[], Section]] = {
        "likelihood": lambda: measure_likelihood(plan, pythons, bar),
        "costs": lambda: measure_all_costs(plan, bar),
        "membership": lambda: measure_membership(plan, pythons, bar),
        "versions": lambda: measure_versions(plan, bar),
        "epsilon": lambda: measure_epsilon(plan, bar),
    }
    for part in plan.parts:
        yield parts[part]()


class _Pythons:
    """The Python of each environment that the plan needs, made if it is not there yet."""

    def __init__(self, plan: Plan) -> None:
        self.sdv: Path | None = None
        self.smartnoise: Path | None = None
        if plan.peers and "likelihood" in plan.parts:
            self.sdv = python_of(SDV, plan.environments)
        asked = "likelihood" in plan.parts or ("membership" in plan.parts and plan.synthesised)
        if asked and any(plan.synthesises(table) for table in plan.tables()):
            self.smartnoise = python_of(SMARTNOISE, plan.environments)

    def synthesisers(self, plan: Plan, table: Table, split: Split, seed: int) -> list[Synthesising]:
        """Return the synthesiser for a table, if there is one; with the first seed alone, for it takes long."""
        if self.smartnoise is None or not plan.synthesises(table) or seed > 0:
            return []
        return [Synthesising.of(split, SYNTHESISER_EPSILON, self.smartnoise, seed)]


def _private(plan: Plan, split: Split, seed: int) -> list[PrivateTraining]:
    return [PrivateTraining.of(split, epsilon, seed) for epsilon in plan.epsilons]


def measure_likelihood(plan: Plan, pythons: _Pythons, bar: Bar) -> Section:
    """Train each method, score rows held out, and judge samples."""
    columns = [
        *_HEAD,
        Column("density", "held-out\nlog-likelihood", 3),
        Column("shapes", "Column\nShapes", 3),
        Column("trends", "Column\nPair Trends", 3),
        Column("train_s", "training\ns", 2),
    ]
    notes = [f"Nats per row, and SDMetrics' quality report on samples. {_note(plan)}"]
    section = Section("likelihood", "What the models are worth", columns, notes=notes)
    bar.begin("likelihood", len(plan.names) * plan.seeds)
    for table in plan.tables():
        found: dict[str, dict[str, list[float]]] = {}
        for seed in range(plan.seeds):
            for name, cells in _likelihoods(plan, pythons, table, seed).items():
                for key, value in cells.items():
                    found.setdefault(name, {}).setdefault(key, []).append(value)
            bar.step()
        for name, lists in found.items():
            cells_of = {key: Figure.of(values) for key, values in lists.items()}
            section.rows.append({"data": table.name, "method": name, **cells_of})
    return section


def _likelihoods(plan: Plan, pythons: _Pythons, table: Table, seed: int) -> dict[str, dict[str, float]]:
    split = table.split(seed)
    methods: Sequence[Method] = [
        UNLEARNING,
        *plan.sharded,
        *_private(plan, split, seed),
        *pythons.synthesisers(plan, table, split, seed),
        NoiselessTraining.of(split, seed),
        PublicTraining(frozenset(split.public.ids)),
    ]
    models: dict[str, Trained] = {}
    found: dict[str, dict[str, float]] = {}
    for method in methods:
        with Stopwatch() as watch:
            trained = models[method.name] = method.train(split.train, seed)
            density = mean_log_density(trained, split)
        found[method.name] = {"density": density, "train_s": watch.seconds}
    if pythons.sdv is not None:
        for name, scores in quality_of_samples(pythons.sdv, split, models, seed).items():
            own = found.setdefault("real rows" if name == "train" else name, {})
            own |= {"shapes": scores.shapes, "trends": scores.trends}
    return found


def measure_all_costs(plan: Plan, bar: Bar) -> Section:
    """Remove records with each method."""
    columns = [
        *_HEAD,
        Column("one_ms", "one removal\nms", 2),
        Column("one_and_answer_ms", "until the\nnext answer", 1),
        Column("batch_ms", "1 %\nms", 1),
        Column("batch_and_answer_ms", "until the\nnext answer", 1),
        Column("bytes", "kept, bytes\na record", 0),
    ]
    notes = [
        f"The median of {plan.timed} removals one by one, then 1 % of the rows at once; each is followed by the "
        "log-density of one row. Kept are the model, and the records and checkpoints that a removal needs. Where "
        f"nothing is done for a removal, it costs nothing. {_note(plan)}"
    ]
    section = Section("costs", "What a removal costs", columns, notes=notes)
    bar.begin("costs", len(plan.names) * plan.seeds)
    for table in plan.tables():
        found: dict[str, list[Costs]] = {}
        for seed in range(plan.seeds):
            split = table.split(seed)
            unsliced = [Sisa(number, n_slices=1) for number in plan.shards]
            exact: list[Method] = [KEEPING, RETRAINING, UNLEARNING, *plan.sharded, *unsliced]
            for method in [*exact, *_private(plan, split, seed)]:
                found.setdefault(method.name, []).append(measure_costs(method, split, plan.timed, seed))
            bar.step()
        section.rows += [_costs_row(table.name, name, costs) for name, costs in found.items()]
    return section


def _costs_row(data: str, method: str, costs: list[Costs]) -> Row:
    return {
        "data": data,
        "method": method,
        "one_ms": Figure.of([1e3 * each.one for each in costs]),
        "one_and_answer_ms": Figure.of([1e3 * each.one_and_answer for each in costs]),
        "batch_ms": Figure.of([1e3 * each.batch for each in costs]),
        "batch_and_answer_ms": Figure.of([1e3 * each.batch_and_answer for each in costs]),
        "bytes": Figure.of([each.bytes_per_record for each in costs]),
    }


def measure_membership(plan: Plan, pythons: _Pythons, bar: Bar) -> Section:
    """Attack models after the removal of their targets."""
    columns = [
        *_HEAD,
        Column("kind", "targets", wrap=True),
        Column("auc", "AUC", 3),
        Column("interval", "95 %"),
        Column("by_chance", "by chance"),
        Column("at_chance", "at\nchance"),
        Column("tpr", "TPR at\n1 % FPR", 3),
        Column("chance_tpr", "by chance\nat most", 3),
    ]
    notes = [
        f"LiRA on {plan.models} models, each trained on the public sample and half of a pool of {plan.pool:,} records, "
        f"with {plan.targets} targets of each kind in or out at random, which are then removed. The interval is of a "
        "bootstrap over targets; chance is what 95 % of coins tossed again would give, that say nothing of the models; "
        f"ends are means over seeds. MST is attacked with {plan.synthesised} models of the first seed, where columns "
        f"have {MOST_CODES} codes in all at most. "
        f"Unlearning and retraining are equal in digests and in log-densities, model by model. {_note(plan)}"
    ]
    section = Section("membership", "Membership after removal", columns, notes=notes)
    n_methods = 2 + len(plan.epsilons)
    bar.begin("membership", len(plan.names) * plan.seeds * plan.models * n_methods)
    for table in plan.tables():
        found: dict[tuple[str, str], list[Success]] = {}
        for seed in range(plan.seeds):
            for name, by_kind in _attacked(plan, pythons, table, seed, bar.step).items():
                for kind, success in by_kind.items():
                    found.setdefault((name, kind), []).append(success)
        section.rows += [_membership_row(table.name, *key, each) for key, each in found.items()]
    return section


def _attacked(
    plan: Plan, pythons: _Pythons, table: Table, seed: int, step: Callable[[], None]
) -> dict[str, dict[str, Success]]:
    split = table.split(seed)
    design = Design.of(split, plan.models, plan.targets, plan.pool, seed)
    densities = attack_default(design, seed, step)
    others: list[Method] = [plan.attacked, *_private(plan, split, seed)]
    for method in others:
        densities[method.name] = attack(design, method, seed, step)
    found = {name: successes(design, each, seed) for name, each in densities.items()}
    for synthesiser in pythons.synthesisers(plan, table, split, seed):
        if not plan.synthesised or sum(synthesiser.structure.n_codes) > MOST_CODES:
            continue
        first = design.first(plan.synthesised)
        found[synthesiser.name] = successes(first, attack(first, synthesiser, seed, step), seed)
    return found


def _membership_row(data: str, method: str, kind: str, found: list[Success]) -> Row:
    means = {key: fmean(getattr(each, key) for each in found) for key in _MEANS}
    curve = {roc_key(share): fmean(each.roc[place] for each in found) for place, share in enumerate(CURVE)}
    return {
        "data": data,
        "method": method,
        "kind": kind,
        "interval": f"{means['low']:.2f} to {means['high']:.2f}",
        "by_chance": f"{means['chance_low']:.2f} to {means['chance_high']:.2f}",
        "auc": Figure.of([each.auc for each in found]),
        **means,
        **curve,
        "tpr": Figure.of([each.tpr for each in found]),
        "at_chance": f"{sum(each.is_at_chance for each in found)} of {len(found)}",
    }


def measure_versions(plan: Plan, bar: Bar) -> Section:
    """Attack the models from before and after a removal."""
    columns = [
        *_HEAD,
        Column("kind", "who left"),
        Column("left", "how\nmany"),
        Column("auc", "AUC", 3),
        Column("first", "one of them\ncomes first", 3),
        Column("chance", "by\nchance", 3),
    ]
    notes = [
        f"Candidates of one kind by how much their log-density fell; {plan.removals[0]} removals of each kind and size "
        f"({plan.removals[1]} with noise). A private network has fresh noise before and after. {_note(plan)}"
    ]
    section = Section("versions", "Both versions: who left?", columns, notes=notes)
    n_kinds = 3 + len(plan.batches)
    n_each = plan.removals[0] + plan.removals[1] * len(plan.epsilons)
    bar.begin("both versions", len(plan.names) * plan.seeds * n_kinds * n_each)
    for table in plan.small_tables():
        found: dict[tuple[str, str, int], list[Found]] = {}
        for seed in range(plan.seeds):
            split = table.split(seed)
            sizes = [size for size in plan.batches if 2 * size < len(split.private) // 2]
            trial = Trial.of(split, plan.candidates, max(sizes, default=1), seed)
            results = compare(trial, _private(plan, split, seed), sizes, plan.removals, seed, bar.step)
            for key, each in results.items():
                found.setdefault(key, []).append(each)
        for (name, kind, size), several in found.items():
            rows = [each.row() for each in several]
            cells = {key: Figure.of([row[key] for row in rows]) for key in rows[0]}
            section.rows.append({"data": table.name, "method": name, "kind": kind, "left": size, **cells})
    return section


def measure_epsilon(plan: Plan, bar: Bar) -> Section:
    """Attack releases with and without the worst record."""
    columns = [
        *_HEAD,
        Column("clusters", "clusters"),
        Column("numbers", "released\nnumbers"),
        Column("sensitivity", "sensitivity,\nrecords", 2),
        Column("scale", "noise,\nrecords", 2),
        Column("accounted", "ε by\nOpenDP", 3),
        Column("two", "of two\nreleases", 2),
        Column("proven", "ε proven\nat least", 3),
        Column("gaussian", "by Gaussian\nnoise", 3),
    ]
    notes = [
        f"The canary moves every table; {plan.releases:,} releases with it and as many without, half of them to choose "
        f"the threshold. 95 %, Clopper and Pearson; δ = {DELTA:g}. The last column knows that the noise is Gaussian. "
        "The first seed's split; the noise has no seed."
    ]
    section = Section("epsilon", "A lower bound on ε", columns, notes=notes)
    bar.begin("lower bounds", len(plan.names) * len(plan.epsilons))
    for table in plan.tables():
        split = table.split(0)
        for method in _private(plan, split, 0):
            bound = bound_epsilon(method, split.train, plan.releases, 0)
            sensitivity = method.released.sensitivity
            section.rows.append(
                {
                    "data": table.name,
                    "method": method.name,
                    "clusters": method.structure.n_clusters,
                    "numbers": method.released.length,
                    "sensitivity": sensitivity / COUNT,
                    "scale": method.scale / COUNT,
                    "accounted": epsilon_of(method.scale, sensitivity),
                    # Of two releases with noise of their own, a record moves both.
                    "two": epsilon_of(method.scale, math.sqrt(2.0) * sensitivity),
                    "proven": Figure(bound.epsilon, None, at_most(method.epsilon)),
                    "gaussian": Figure(bound.gaussian, None, at_most(method.epsilon)),
                }
            )
            bar.step()
    return section


def _note(plan: Plan) -> str:
    """Say what a figure is the mean of."""
    return f"Seeds 0 to {plan.seeds - 1}: mean ± deviation." if plan.seeds > 1 else "Seed 0."
