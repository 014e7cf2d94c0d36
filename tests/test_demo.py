from __future__ import annotations

import dataclasses
import re
from typing import Any

import pytest
from typer.testing import CliRunner

from unlearnspn import SPN, Report
from unlearnspn.cli import app
from unlearnspn.demo.plan import MAX_REMOVALS, MIN_ROWS, N_PATIENTS, load_patients, make_plan
from unlearnspn.demo.steps import take_step

# wherever the tests run, the output is to be plain text of one width
runner = CliRunner(env={"COLUMNS": "80", "TERM": "dumb", "FORCE_COLOR": None, "GITHUB_ACTIONS": None})


def output_of(*arguments: str, exit_code: int = 0) -> str:
    result = runner.invoke(app, ["demo", *arguments])
    assert result.exit_code == exit_code, result.output
    return " ".join(result.output.split())


@pytest.mark.parametrize("removals", [0, MAX_REMOVALS + 1])
def test_removals_out_of_range_are_refused(removals: int) -> None:
    assert runner.invoke(app, ["demo", "--removals", str(removals)]).exit_code == 2


def test_it_is_said_how_many_may_be_removed() -> None:
    output = output_of("--removals", str(MAX_REMOVALS + 1), exit_code=2)
    assert f"is more than {MAX_REMOVALS} of 469 patients" in output


def test_demo_states_equality() -> None:
    output = output_of("--removals", "7", "--seed", "1", "--no-progress")
    assert "EQUAL: all 10 models are those of retraining, bit for bit." in output
    assert "NOT EQUAL" not in output
    assert "… 2 more" in output
    assert re.search(r"before 469 .*after removals one by one 462 .*in one batch 455 .*added back 462 ", output)
    assert "The report of removing patient-" in output


def test_times_are_shown() -> None:
    output = output_of("--removals", "2", "--no-progress")
    assert len(re.findall(r"patient-\d{4} [\d.]+ [\d.]+ [0-9a-f]{7}/", output)) == 2
    assert re.search(r"On average retraining takes [\d.]+ times as long as unlearning", output)


def test_some_patients_are_left_when_most_are_removed() -> None:
    plan = make_plan(MAX_REMOVALS, seed=0)
    patients = plan.start
    for request in plan.requests:
        patients = request.book(patients)
    assert MIN_ROWS <= len(patients) < len(plan.start)


def test_demo_shows_equal_digests_side_by_side() -> None:
    pairs = re.findall(r"([0-9a-f]{7}/[0-9a-f]{7}) ([0-9a-f]{7}/[0-9a-f]{7}) (\w+)", output_of("--removals", "2"))
    assert len(pairs) == 5
    assert all(unlearned == retrained and equal == "yes" for unlearned, retrained, equal in pairs)


def test_a_model_that_only_pretends_to_forget_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    unlearn = SPN.unlearn

    def pretend(self: SPN, ids: list[str], **options: Any) -> Report:
        return unlearn(self, ids, dry_run=len(ids) == 1, **options)

    monkeypatch.setattr(SPN, "unlearn", pretend)
    output = output_of("--removals", "2", "--no-progress", exit_code=1)
    assert "NOT EQUAL: 5 of 5 models differ from retraining." in output
    # such a model is consistent in itself: only retraining without the patients tells
    assert re.search(r"after removals one by one 469 ", output)


@pytest.mark.parametrize("change", [{"digest": "0"}, {"state_digest": "0"}, {"log_density": 0.0}])
def test_each_part_of_the_comparison_counts(change: dict[str, Any]) -> None:
    plan = make_plan(removals=1, seed=0)
    request = plan.singles[0]
    step = take_step(plan, plan.learn(plan.start), request, request.book(plan.start))
    assert step.equal
    assert not dataclasses.replace(step, retrained=dataclasses.replace(step.retrained, **change)).equal
    assert not dataclasses.replace(step, verified=False).equal


def test_the_patients_are_those_of_the_data_set() -> None:
    patients = load_patients()
    assert len(patients) == 569
    assert list(patients["patient-0000"][[0, 30]]) == [17.99, "malignant"]


def test_requests_are_about_patients_of_the_model() -> None:
    plan = make_plan(removals=3, seed=5)
    assert len(plan.start) == N_PATIENTS
    gone = [name for request in plan.singles for name in request.patients]
    batch, back, corrected = (list(request.patients) for request in plan.others)
    assert len({*gone, *batch, *corrected}) == 7
    assert {*gone, *batch, *corrected} <= set(plan.start)
    assert back == batch
