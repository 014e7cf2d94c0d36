"""Everything compiled before times are taken."""

from __future__ import annotations

import sys
from subprocess import Popen

import numpy as np

from unlearnspn.compiling import compile_always, compile_for, is_new
from unlearnspn.demo.plan import FEW, Plan, make_plan
from unlearnspn.rebuilding import rebuild
from unlearnspn.walking import walk

#: What another process does meanwhile, if nothing is compiled yet.
_BESIDE = "from unlearnspn.demo.warming import compile_rebuilding; compile_rebuilding()"
_NOBODY = np.zeros(0, np.int64)


def compile_everything(plan: Plan) -> None:
    """Do everything once with a model that is thrown away, so that no compilation is timed."""
    beside = Popen([sys.executable, "-c", _BESIDE]) if is_new(rebuild) else None
    compile_always()
    spn = plan.learn(plan.start)
    spn.score(plan.held_out)
    spn.verify()
    if beside is not None:
        model = spn._fitted()
        compile_for(walk, model.network.words, model.learner.ground, _NOBODY, _NOBODY, 0)
        beside.wait()
    for request in plan.requests:
        request.send(spn)


def compile_rebuilding() -> None:
    """Compile what rebuilds nodes; the model of a few patients, which it takes, is learned as it is written."""
    plan = make_plan(FEW, removals=1, seed=0)
    model = plan.learn(plan.start)._fitted()
    compile_for(rebuild, model.network.words, model.learner.ground, 0, _NOBODY, _NOBODY, _NOBODY)
