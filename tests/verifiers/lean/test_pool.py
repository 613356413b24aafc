import pickle

import pytest

from rewardkit.verifiers.lean.backends import Check, LostError
from rewardkit.verifiers.lean.pool import Load, repeat, settle

LATE = Check((), "timeout", by_clock=True)
SPENT = Check((), "timeout")
DONE = Check((), "done")


def attempts(*checks):
    """Returns an attempt that answers these in turn, and the list of what it was asked for."""
    asked, left = [], list(checks)

    def attempt(fresh):
        asked.append(fresh)
        return left.pop(0)

    return attempt, asked


@pytest.mark.parametrize(
    ("others", "checks", "asked"),
    [
        (0, [LATE], [False]),  # alone, the clock is right
        (1, [LATE, DONE], [False, True]),
        (1, [LATE, LATE], [False, True]),  # once more, and not for ever
        (1, [SPENT], [False]),  # processor time is the proof's own
        (1, [DONE], [False]),
    ],
)
def test_a_late_check_is_made_again_only_where_others_ran(others, checks, asked):
    load = Load(others)
    attempt, seen = attempts(*checks)
    assert settle(load, attempt, fresh=False) is checks[-1]
    assert seen == asked
    assert load.count == others


def test_the_load_is_let_go_of_when_a_check_is_lost():
    load = Load()

    def lost(fresh):
        raise LostError("gone")

    with pytest.raises(LostError):
        settle(load, lost, fresh=False)
    assert load.count == 0
    assert pickle.loads(pickle.dumps(Load(3))).count == 0


def test_what_is_lost_is_made_again_a_few_times():
    left = [OSError("a"), LostError("b"), DONE]

    def attempt():
        answer = left.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    assert repeat(3, attempt) is DONE
    left += [OSError("a"), OSError("b")]
    with pytest.raises(LostError, match="lost 2 times: b"):
        repeat(2, attempt)
