"""The demonstration: patients leave a model, and after each request it is compared with retraining.

By default the table is so small that little has to be compiled beside what scores. To take times everything is compiled
first, and the table is larger.
"""

from rich.console import Console

from unlearnspn.demo import tables
from unlearnspn.demo.plan import FEW, MANY, Plan, make_plan
from unlearnspn.demo.steps import Identity, follow
from unlearnspn.demo.warming import compile_everything

__all__ = ["FEW", "MANY", "make_plan", "run"]


def run(console: Console, plan: Plan, times: bool, progress: bool = True) -> bool:
    """Run the demonstration and tell whether every model was equal to the one retrained."""
    console.print(tables.introduction(plan, times))
    if times:
        compile_everything(plan)
    spn = plan.learn(plan.start)
    before = Identity.of(spn, plan.held_out)
    steps = follow(plan, spn, console, progress)
    singles, others = steps[: len(plan.singles)], steps[len(plan.singles) :]
    console.print(tables.requests(singles, others, times), "")
    console.print(tables.likelihoods(len(plan.start), before, [singles[-1], *others]), "")
    if times:
        console.print(tables.times(singles), tables.times_note(singles))
    console.print(tables.sample_report(singles), "")
    console.print(tables.verdict(steps))
    if not times:
        console.print(tables.what_next())
    return all(step.equal for step in steps)
