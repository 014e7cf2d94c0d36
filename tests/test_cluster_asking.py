"""Questions that take several rounds, asked in step."""

import pytest

from unlearnspn.cluster.asking import Answers, Ask, Steps, Unanswered, added, ask_one, ask_together


class Adding:
    """Two shards, which add their number to what they are asked."""

    number = 2

    def __init__(self):
        self.rounds = []

    def ask(self, asks):
        self.rounds.append([ask.method for ask in asks])
        return [[ask.arguments[0] + number for number in range(2)] for ask in asks]


def doubling(times):
    """Ask so many times, each time for the sum of the answers before."""
    value = 1
    for number in range(times):
        value = added((yield Ask(f"round {number}", (value,))))
    return value


def test_questions_of_a_level_share_rounds():
    shards = Adding()
    assert ask_together(shards, [doubling(0), doubling(2), doubling(1)]) == [1, 7, 3]
    assert shards.rounds == [["round 0", "round 0"], ["round 1"]]
    assert ask_together(shards, []) == []
    assert len(shards.rounds) == 2


def test_a_decision_is_made_again_until_all_is_known():
    answers, made = Answers(), []

    def decide():
        made.append(None)
        first = answers.get("first", lambda: doubling(1))
        return first, answers.get("second", lambda: doubling(2)) if first > 2 else None

    assert ask_one(Adding(), answers.completing(decide)) == (3, 7)
    assert len(made) == 3
    with pytest.raises(Unanswered):
        answers.get("third", lambda: doubling(1))


def test_an_error_of_a_question_reaches_whoever_asks():
    def failing():
        yield Ask("round", (1,))
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        ask_together(Adding(), [failing(), doubling(3)])


def test_steps_are_told_in_words():
    told = []
    steps = Steps(lambda *step: told.append(step))
    steps.asked("propose_seed")
    steps.settled(30, 100)
    steps.asked("something")
    assert told == [("picking seeds", 0, 0), ("counting codes", 30, 100)]
    Steps().asked("read")
