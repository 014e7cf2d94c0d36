"""Readers score while a writer removes; run as a script with the number of readers and of removals."""

import os
import sys
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory

from unlearnspn import SPN, Vault
from vault_states import features, people

TABLE = people(300, seed=11)
PARAMETERS = {"min_rows": 20}
ASKED = features(people(25, seed=12))


def answers_after_each(gone):
    """Return the answers of the models that never saw the first of those who leave, and so on."""
    spn = SPN(**PARAMETERS).fit(features(TABLE), ids=TABLE["customer"].tolist())
    answers = [spn.score_samples(ASKED).tobytes()]
    for name in gone:
        spn.unlearn(name)
        answers.append(spn.score_samples(ASKED).tobytes())
    return answers


def read(path, gone, answers, n_removed, n_read):
    """Ask until all have left; each answer must be that of one model, and never of one from before a removal."""
    latest = 0
    with Vault.open(path) as vault:
        while latest < len(gone):
            n_before = n_removed.value
            answer = vault.score_samples(ASKED).tobytes()
            assert answer in answers, "this is the answer of no model that there ever was"
            latest = answers.index(answer)
            assert latest >= n_before, f"{n_before} had left, but the answer is from after {latest}"
            n_before = n_removed.value
            held = set(vault.ids())
            assert not held & set(gone[:n_before])
            n_read.value += 1


def main(n_readers, n_removals):
    context = get_context("fork")
    gone = TABLE["customer"].sample(n_removals, random_state=1).tolist()
    answers = answers_after_each(gone)
    assert len(set(answers)) == len(answers)
    n_removed, counts = context.Value("i", 0), [context.Value("i", 0) for _ in range(n_readers)]
    with TemporaryDirectory() as folder:
        path = Path(folder) / "people.uspn"
        with Vault.create(path) as vault:
            vault.ingest(TABLE, "customer", "person")
            vault.fit(**PARAMETERS)
        readers = [
            context.Process(target=read, args=(path, gone, answers, n_removed, count), daemon=True) for count in counts
        ]
        for reader in readers:
            reader.start()
        with Vault.open(path, write=True) as vault:
            for number, name in enumerate(gone, start=1):
                vault.unlearn(name)
                n_removed.value = number
        for reader in readers:
            reader.join(120)
            assert reader.exitcode == 0, reader.exitcode
    print(f"{sum(count.value for count in counts)} answers while {n_removals} left")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
    os._exit(0)
