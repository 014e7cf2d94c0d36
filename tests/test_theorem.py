"""The paper's theorem on ReviseOperation, and the two places where its text, taken literally, goes wrong."""

from dataclasses import replace

import numpy as np
import pytest

from unlearnspn import Operation
from unlearnspn.clustering import QKMeans
from unlearnspn.independence import GTest
from unlearnspn.leaves import Categorical, Gaussian
from unlearnspn.records import Records
from unlearnspn.schema import Schema
from unlearnspn.spn.change import Change
from unlearnspn.spn.digest import digest_network
from unlearnspn.spn.holder import LOCAL
from unlearnspn.spn.learn_spn import Decision, FromRows, choose_operation, learn_spn, perform
from unlearnspn.spn.learner import Learner
from unlearnspn.spn.node import Place
from unlearnspn.spn.unlearn_spn import Revision
from unlearnspn.statistics.marginals import Marginals
from unlearnspn.tables import read_table

CL, NF = Operation.CREATE_LEAF, Operation.NAIVE_FACTORIZATION
SU, SD, SV = Operation.SPLIT_UNINFORMATIVE, Operation.SPLIT_DATA, Operation.SPLIT_VARIABLES

#: Every pair (operation for X, operation for X without one record) that the paper's Definition 3 allows.
PAIRS_OF_THE_PAPER = {
    (CL, CL),
    *((NF, new) for new in (NF, SU, SD, SV)),
    *((SD, new) for new in (SU, NF, SV, SD)),
    *((SV, new) for new in (SU, NF, SD, SV)),
    *((SU, new) for new in (SU, NF)),
}


class Setup:
    """A table with a learner for all of its rows, and the place of a root."""

    def __init__(self, table, min_rows, threshold=0.3, epsilon=1.0, n_variables=None):
        table = read_table(table)
        schema = Schema.of(table, "from_dtype", None)
        self.records = Records.learn(schema, 1, 4, list(range(table.n_rows)), table)
        leaves = [Gaussian() if numeric else Categorical() for numeric in self.records.is_numeric]
        test, clustering = GTest(threshold), QKMeans(2, epsilon, 3)
        self.learner = Learner(self.records, self.records.encoding, min_rows, test, clustering, leaves, LOCAL)
        self.place = Place(np.arange(n_variables or len(leaves)), 5, keeps_rows=True)
        self.rows = self.records.rows

    def without(self, gone):
        """Return all rows but some, which are few: NumPy's sets take longer than learning from them."""
        return np.array([row for row in self.rows.tolist() if row not in gone], np.int64)

    def revise_operation(self, minus, plus=()):
        """Return the operation for the rows without `plus`, and ReviseOperation's answer to the change."""
        minus, plus = np.sort(np.array(minus, np.int64)), np.sort(np.array(plus, np.int64))
        node = self.learn(self.without(plus))
        if node.operation is CL:  # |V| = 1 whatever the records are: there is nothing to ask again
            return CL, CL
        after = self.without(minus)
        before = node.operation
        return before, Revision(self.learner).revise_operation(node, Change(minus, plus, lambda: after)).operation

    def revise(self, minus, plus=()):
        """Revise a whole network, and return the root's operation before and after.

        The network must be the one that is learned anew, to the last bit of its digests.
        """
        minus, plus = np.sort(np.array(minus, np.int64)), np.sort(np.array(plus, np.int64))
        node, after = self.learn(self.without(plus)), self.without(minus)
        digest_network(self.learner, node)
        before = node.operation
        revised = Revision(self.learner).unlearn_spn(node, Change(minus, plus, lambda: after))
        assert self.digests(revised) == self.digests(self.learn(after))
        return before, revised.operation

    def learn(self, rows):
        """Learn a network."""
        return learn_spn(self.learner, self.place, rows)

    def digests(self, node):
        """Return the digests of a network."""
        return digest_network(self.learner, node)

    def choose(self, rows):
        """Return the decision that learning comes to."""
        return choose_operation(self.learner, self.place, FromRows(self.learner, self.place, rows))

    def learn_operation(self, minus):
        """Return the operation that learning chooses without some rows."""
        return self.choose(self.without(minus)).operation


def random_tables(n_tables, seed):
    """Yield small tables in which one record often makes a difference: few values, one of them rare."""
    rng = np.random.default_rng(seed)
    for _ in range(n_tables):
        n_rows, n_columns = int(rng.integers(2, 9)), int(rng.choice([1, 2, 2, 3]))
        table = (rng.random((n_rows, n_columns)) < rng.choice([0.1, 0.3, 0.5])).astype(float)
        if rng.random() < 0.5:
            table[:, -1] = table[:, 0]
        yield table, int(rng.choice([1, n_rows // 2 + 1, n_rows - 1, n_rows])), float(rng.choice([0.01, 0.3, 1.0])), rng


def random_setups(n_tables, seed):
    """Yield setups of such tables, some with a lattice so coarse that clusters are hard to find."""
    for table, size, threshold, rng in random_tables(n_tables, seed):
        yield Setup(table, size, threshold, epsilon=float(rng.choice([1.0, 8.0, 8.0]))), rng


def test_revise_operation_is_what_learning_chooses_for_every_pair():
    reached = set()
    for setup, _ in random_setups(2000, seed=0):
        old, new = setup.revise_operation([0])
        assert new == setup.learn_operation([0])
        assert setup.revise([0]) == (old, new)
        reached.add((old, new))
    assert reached == PAIRS_OF_THE_PAPER


@pytest.mark.deep
def test_additions_reach_every_pair_backwards():
    reached = set()
    for setup, _ in random_setups(4000, seed=1):
        old, new = setup.revise_operation([], [0])
        assert new == setup.learn_operation([])
        assert setup.revise([], [0]) == (old, new)
        reached.add((old, new))
    assert {(new, old) for old, new in reached} == PAIRS_OF_THE_PAPER


@pytest.mark.deep
def test_corrections_and_batches_reach_every_pair_of_operations():
    reached = set()
    for setup, rng in random_setups(6000, seed=2):
        n_rows = len(setup.rows)
        minus, plus = np.split(rng.permutation(n_rows)[: n_rows - 1], [n_rows // 2])
        old, new = setup.revise_operation(minus, plus)
        assert new == setup.learn_operation(minus)
        assert setup.revise(minus, plus) == (old, new)
        reached.add((old, new))
    split = (NF, SU, SD, SV)
    assert reached == {(CL, CL), *((old, new) for old in split for new in split)}


# -- the paper, literally ----------------------------------------------------------------------------------------------


def answers(setup, rows):
    """Return (any variable uninformative, all of them, independencies, clusters) for some rows."""
    learner, place = setup.learner, setup.place
    data = learner.slice(place.scope, place.key)
    constant = [len(set(setup.records.values[rows, v])) < 2 for v in place.scope]
    independencies = learner.independence.groups(learner.independence.learn(data, rows), data).any()
    clusters = np.count_nonzero(learner.clustering.sizes(learner.clustering.learn(data, rows))) > 1
    return any(constant), all(constant), bool(independencies), bool(clusters)


def rev_of_naive_factorization(setup, before, after):
    """Definition 3, NF, as printed: case 4 asks |X| ≤ t."""
    some_before, all_before, _, _ = answers(setup, before)
    some, every, independencies, clusters = answers(setup, after)
    if all_before or every:
        return NF
    if some and not some_before:
        return SU
    if len(before) <= setup.learner.min_rows or (not clusters and not independencies):
        return NF
    return SV if independencies else SD


def unlearn_naive_factorization(setup, before, after):
    """Algorithm 2, lines 5 to 9, as printed, for a node made by NF whose operation changes."""
    new = rev_of_naive_factorization(setup, before, after)
    if new in (SD, SV):
        return setup.learn(after)
    informative = np.ones(setup.place.scope.size, np.uint8)
    marginals = Marginals.learn(setup.learner.coded, setup.place.scope, after)
    return perform(setup.learner, Decision(NF, marginals, informative), setup.place, after)


def test_literal_slip_nf_to_su_is_not_relearned():
    # Two informative variables, few records: NF. Without record 0 the first is constant, so learning splits it off.
    setup = Setup([[1.0, 0.0], [0.0, 1.0], [0.0, 2.0], [0.0, 3.0]], min_rows=10)
    before, after = setup.rows, setup.rows[1:]
    assert setup.choose(before).operation is NF
    assert rev_of_naive_factorization(setup, before, after) is SU
    literal = unlearn_naive_factorization(setup, before, after)
    learned = setup.learn(after)
    assert (literal.operation, learned.operation) == (NF, SU)
    assert setup.digests(literal) != setup.digests(learned)
    assert setup.revise_operation([0]) == setup.revise([0]) == (NF, SU)


def test_literal_slip_asks_for_the_size_before():
    # |X| = t + 1, and NF for lack of clusters and independencies; X' has one of them, but |X'| = t: NF again.
    for setup, _ in random_setups(4000, seed=3):
        setup.learner = replace(setup.learner, min_rows=len(setup.rows) - 1)
        before, after = setup.rows, setup.rows[1:]
        if setup.choose(before).operation is not NF or len(setup.place.scope) < 2:
            continue
        literal = rev_of_naive_factorization(setup, before, after)
        if literal in (SD, SV):
            break
    else:
        pytest.fail("no table shows the slip")
    assert setup.learn_operation([0]) is NF
    assert setup.revise_operation([0]) == setup.revise([0]) == (NF, NF)
    wrong = perform(setup.learner, _decision_for(setup, literal, after), setup.place, after)
    learned = setup.learn(after)
    assert setup.digests(wrong) != setup.digests(learned)


def _decision_for(setup, operation, rows):
    """Return the decision that the printed text arrives at."""
    learner = replace(setup.learner, min_rows=0)
    decision = choose_operation(learner, setup.place, FromRows(learner, setup.place, rows))
    assert decision.operation is operation
    return decision
