"""The paper's theorem on ReviseOperation, and the two places where its text, taken literally, goes wrong."""

from dataclasses import replace

import numpy as np
import pytest

from unlearnspn import Operation
from unlearnspn.clustering import QKMeans
from unlearnspn.digests import digest_network
from unlearnspn.flat_network import FlatNetwork
from unlearnspn.independence import GTest
from unlearnspn.learning import Decision, Learner, Place
from unlearnspn.leaves import Categorical, Gaussian
from unlearnspn.reconsidering import Change, revise_operation
from unlearnspn.records import Records
from unlearnspn.revision import Revision
from unlearnspn.schema import Schema
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
        self.learner = Learner(self.records, self.records.encoding, min_rows, test, clustering, leaves)
        self.place = Place(np.arange(n_variables or len(leaves)), 5, keeps_rows=True)
        self.rows = self.records.rows

    def revise_operation(self, minus, plus=()):
        """Return the operation for the rows without `plus`, and ReviseOperation's answer to the change."""
        minus, plus = np.array(minus, np.int64), np.array(plus, np.int64)
        before = np.setdiff1d(self.rows, plus)
        node = self.learner.learn_spn(self.place, before)
        if node.operation is CL:  # |V| = 1 whatever the records are: there is nothing to ask again
            return CL, CL
        after = np.setdiff1d(self.rows, minus)
        decision = revise_operation(self.learner, node, self.place, Change(minus, plus, lambda: after))
        return node.operation, decision.operation

    def revise(self, minus, plus=()):
        """Revise a whole network, compiled, and return the root's operation before and after.

        The network must be the one that is learned anew, to the last bit of its digests.
        """
        minus, plus = np.array(minus, np.int64), np.array(plus, np.int64)
        self.records.live[plus] = False  # until a change is committed, its new records are not there yet
        network = self.grow(np.setdiff1d(self.rows, plus))
        before = network.operation(network.root)
        Revision(self.learner, network).revise(minus, plus)
        learned = self.grow(np.setdiff1d(self.rows, minus))
        assert digest_network(self.learner, network) == digest_network(self.learner, learned)
        self.records.live[plus] = True
        return before, network.operation(network.root)

    def grow(self, rows):
        """Learn a network, compiled; a root keeps no rows of its own."""
        network = FlatNetwork(self.learner.inside)
        network.root = network.grow(self.learner, replace(self.place, keeps_rows=False), rows)
        digest_network(self.learner, network)
        return network

    def digests(self, node):
        """Return the digests of a network that was made in Python."""
        network = FlatNetwork(self.learner.inside)
        network.root = network.store(node, self.learner.hash_marginals)
        return digest_network(self.learner, network)

    def learn_operation(self, minus):
        """Return the operation that learning chooses without some rows."""
        return self.learner.choose_operation(self.place, np.setdiff1d(self.rows, minus)).operation


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
    for setup, _ in random_setups(4000, seed=0):
        old, new = setup.revise_operation([0])
        assert new == setup.learn_operation([0])
        assert setup.revise([0]) == (old, new)
        reached.add((old, new))
    assert reached == PAIRS_OF_THE_PAPER


def test_additions_reach_every_pair_backwards():
    reached = set()
    for setup, _ in random_setups(4000, seed=1):
        old, new = setup.revise_operation([], [0])
        assert new == setup.learn_operation([])
        assert setup.revise([], [0]) == (old, new)
        reached.add((old, new))
    assert {(new, old) for old, new in reached} == PAIRS_OF_THE_PAPER


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
    learner, place, data = setup.learner, setup.place, setup.learner.slice(setup.place)
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
        return setup.learner.learn_spn(setup.place, after)
    informative = np.ones(setup.place.scope.size, np.bool_)
    marginals = setup.learner.count_codes(setup.place.scope, after)
    return setup.learner.make(Decision(NF, marginals, informative), setup.place, after)


def test_literal_slip_nf_to_su_is_not_relearned():
    # Two informative variables, few records: NF. Without record 0 the first is constant, so learning splits it off.
    setup = Setup([[1.0, 0.0], [0.0, 1.0], [0.0, 2.0], [0.0, 3.0]], min_rows=10)
    before, after = setup.rows, setup.rows[1:]
    assert setup.learner.choose_operation(setup.place, before).operation is NF
    assert rev_of_naive_factorization(setup, before, after) is SU
    literal = unlearn_naive_factorization(setup, before, after)
    learned = setup.learner.learn_spn(setup.place, after)
    assert (literal.operation, learned.operation) == (NF, SU)
    assert setup.digests(literal) != setup.digests(learned)
    assert setup.revise_operation([0]) == setup.revise([0]) == (NF, SU)


def test_literal_slip_asks_for_the_size_before():
    # |X| = t + 1, and NF for lack of clusters and independencies; X' has one of them, but |X'| = t: NF again.
    for setup, _ in random_setups(4000, seed=3):
        setup.learner = replace(setup.learner, min_rows=len(setup.rows) - 1)
        before, after = setup.rows, setup.rows[1:]
        if setup.learner.choose_operation(setup.place, before).operation is not NF or len(setup.place.scope) < 2:
            continue
        literal = rev_of_naive_factorization(setup, before, after)
        if literal in (SD, SV):
            break
    else:
        pytest.fail("no table shows the slip")
    assert setup.learn_operation([0]) is NF
    assert setup.revise_operation([0]) == setup.revise([0]) == (NF, NF)
    wrong = setup.learner.make(_decision_for(setup, literal, after), setup.place, after)
    learned = setup.learner.learn_spn(setup.place, after)
    assert setup.digests(wrong) != setup.digests(learned)


def _decision_for(setup, operation, rows):
    """Return the decision that the printed text arrives at."""
    decision = replace(setup.learner, min_rows=0).choose_operation(setup.place, rows)
    assert decision.operation is operation
    return decision
