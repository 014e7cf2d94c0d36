"""The demonstration: patients leave a model, and after each request it is compared with retraining."""

from rich.console import Console

from unlearnspn.demo import tables
from unlearnspn.demo.plan import MAX_REMOVALS, N_PATIENTS, Plan, make_plan
from unlearnspn.demo.steps import Identity, follow

__all__ = ["MAX_REMOVALS", "N_PATIENTS", "make_plan", "run"]


def run(console: Console, plan: Plan, progress: bool = True) -> bool:
    """Run the demonstration and tell whether every model was equal to the one retrained."""
    console.print(tables.introduction(plan))
    spn = plan.learn(plan.start)
    before = Identity.of(spn, plan.held_out)
    steps = follow(plan, spn, console, progress)
    singles, others = steps[: len(plan.singles)], steps[len(plan.singles) :]
    console.print(tables.requests(singles, others), "")
    console.print(tables.likelihoods(len(plan.start), before, [singles[-1], *others]), "")
    console.print(tables.times(singles), tables.times_note(singles))
    console.print(tables.sample_report(singles), "")
    console.print(tables.verdict(steps))
    return all(step.equal for step in steps)
