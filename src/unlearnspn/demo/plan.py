"""Who is in the model, who is held out, and what is asked of the model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.datasets import load_breast_cancer

from unlearnspn import SPN, Report

N_PATIENTS = 469
MIN_ROWS = 50
#: So many that some patients are left, as many leaving one by one as in the batch.
MAX_REMOVALS = (N_PATIENTS - MIN_ROWS) // 2
_HELD_OUT = 100
_ADDED_BACK = 10

Rows = npt.NDArray[np.object_]
#: The patients that a model should hold, by id.
Patients = dict[str, Any]


class Verb(StrEnum):
    """What is asked of the model."""

    UNLEARN = "unlearn"
    LEARN = "learn"
    RECTIFY = "rectify"


@dataclass(frozen=True)
class Request:
    """A request to the model about some patients, with the values that they have or are to have."""

    label: str
    verb: Verb
    patients: Patients

    def send(self, spn: SPN) -> Report:
        """Let the model carry the request out."""
        ids = list(self.patients)
        match self.verb:
            case Verb.UNLEARN:
                return spn.unlearn(ids)
            case Verb.LEARN:
                return spn.learn(_rows(self.patients), ids)
            case Verb.RECTIFY:
                return spn.rectify(_rows(self.patients), ids)

    def book(self, patients: Patients) -> Patients:
        """Return the patients there are afterwards, without asking the model."""
        if self.verb is Verb.UNLEARN:
            return {name: row for name, row in patients.items() if name not in self.patients}
        return patients | self.patients


@dataclass(frozen=True)
class Plan:
    """The patients to start with, those held out, and the requests."""

    start: Patients
    held_out: Rows
    singles: list[Request]
    others: list[Request]
    seed: int

    @property
    def requests(self) -> list[Request]:
        """All requests in order."""
        return [*self.singles, *self.others]

    def is_scored(self, request: Request) -> bool:
        """Tell whether likelihoods are shown after a request: to compute them takes longer than all the rest."""
        return all(request is not single for single in self.singles[:-1])

    def learn(self, patients: Patients) -> SPN:
        """Learn a model from scratch."""
        spn = SPN(min_rows=MIN_ROWS, random_state=self.seed)
        return spn.fit(_rows(patients), ids=list(patients))


def make_plan(removals: int, seed: int) -> Plan:
    """Draw who is held out, who leaves, who comes back and who is corrected."""
    everyone = load_patients()
    drawn = [str(name) for name in np.random.default_rng(seed).permutation(list(everyone))]
    held_out, members = drawn[:_HELD_OUT], drawn[_HELD_OUT : _HELD_OUT + N_PATIENTS]
    # in the table's order: the model's own order will be another one after learning again
    start = {name: row for name, row in everyone.items() if name in members}
    leaving, batch, wrong = members[:removals], members[removals : 2 * removals], members[2 * removals]
    back = batch[:_ADDED_BACK]
    others = [
        Request(f"{len(batch)} in one batch", Verb.UNLEARN, _pick(everyone, batch)),
        Request(f"{len(back)} added back", Verb.LEARN, _pick(everyone, back)),
        Request("1 corrected", Verb.RECTIFY, {wrong: _other_diagnosis(everyone[wrong])}),
    ]
    singles = [Request(name, Verb.UNLEARN, _pick(everyone, [name])) for name in leaving]
    return Plan(start, _rows(_pick(everyone, held_out)), singles, others, seed)


def load_patients() -> Patients:
    """Return the patients by id: the measurements of each, and the diagnosis as a string."""
    data = load_breast_cancer()
    diagnoses = data.target_names[data.target].astype(object)
    rows = np.column_stack([data.data.astype(object), diagnoses])
    return {f"patient-{number:04d}": row for number, row in enumerate(rows)}


def _pick(patients: Patients, names: Sequence[str]) -> Patients:
    return {name: patients[name] for name in names}


def _rows(patients: Patients) -> Rows:
    return np.array(list(patients.values()), object)


def _other_diagnosis(row: Rows) -> Rows:
    corrected = row.copy()
    corrected[-1] = "benign" if row[-1] == "malignant" else "malignant"
    return corrected
