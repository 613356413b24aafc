"""One verdict per row, in order, whatever a row does."""

import os
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from rewardkit.completion import Completion
from rewardkit.errors import ConfigError, InvalidReferenceError
from rewardkit.runtime import WorkerPool, verify_rows
from rewardkit.verdict import Json, Reason, Verdict
from tests.runtime.tasks import LIMIT_S
from tests.runtime.verifiers import Echo


@pytest.fixture(scope="module")
def pool() -> Iterator[WorkerPool]:
    with WorkerPool(workers=2, memory_mb=256) as pool:
        yield pool


def grade(
    pool: WorkerPool,
    completions: list[Completion],
    references: list[Json] | None = None,
    *,
    verifier: Any = None,
    contexts: list[dict[str, Any]] | None = None,
    row_timeout_s: float = LIMIT_S,
    inline_rows: int = 0,
    inline_s: float = 0.0,
) -> list[Verdict]:
    return verify_rows(
        verifier or Echo(),
        completions,
        ["a"] * len(completions) if references is None else references,
        [{}] * len(completions) if contexts is None else contexts,
        pool=pool,
        row_timeout_s=row_timeout_s,
        inline_rows=inline_rows,
        inline_s=inline_s,
    )


def test_the_verdicts_are_those_of_verify_in_order(pool: WorkerPool) -> None:
    completions: list[Completion] = [str(i) for i in range(300)]
    references: list[Json] = [str(i - i % 3) for i in range(300)]
    contexts = [{"hint": i} for i in range(300)]
    expected = [
        Echo().verify(c, r, **x) for c, r, x in zip(completions, references, contexts, strict=True)
    ]
    assert grade(pool, completions, references, contexts=contexts) == expected
    assert grade(pool, completions, references, contexts=contexts, inline_rows=10**6) == expected


def test_an_empty_batch_has_no_verdicts(pool: WorkerPool) -> None:
    assert grade(pool, []) == []


@pytest.mark.parametrize(
    ("poison", "reason"),
    [
        ("hang", Reason.TIMEOUT),
        ("exit", Reason.ENGINE_FAILURE),
        ("eat", Reason.MEMORY),
        ("raise", Reason.ENGINE_FAILURE),
    ],
)
def test_a_poisonous_row_loses_only_itself(pool: WorkerPool, poison: str, reason: Reason) -> None:
    completions: list[Completion] = ["a"] * 40
    completions[0] = completions[23] = poison
    verdicts = grade(pool, completions, row_timeout_s=1.0 if poison == "hang" else LIMIT_S)
    assert [i for i, verdict in enumerate(verdicts) if not verdict.passed] == [0, 23]
    for verdict in (verdicts[0], verdicts[23]):
        assert verdict.score is None
        assert verdict.reason is reason
        assert verdict.detail.startswith("echo: ")


def test_a_row_that_raises_abstains_inline_as_in_a_worker(pool: WorkerPool) -> None:
    inline = grade(pool, ["raise", "a"], inline_rows=2)
    assert inline == grade(pool, ["raise", "a"])
    assert inline[0].detail == "echo: RuntimeError: broken engine"


@pytest.mark.parametrize("inline_rows", [0, 100])
def test_the_first_unreadable_reference_is_raised(pool: WorkerPool, inline_rows: int) -> None:
    completions: list[Completion] = [str(i) for i in range(50)]
    references: list[Json] = [None if i in (20, 40) else "a" for i in range(50)]
    with pytest.raises(InvalidReferenceError, match="no reference for '20'"):
        grade(pool, completions, references, inline_rows=inline_rows)


def test_a_small_batch_is_graded_here(pool: WorkerPool) -> None:
    here = grade(pool, ["pid"] * 3, inline_rows=3)
    there = grade(pool, ["pid"] * 4, inline_rows=3)
    assert {verdict.answer for verdict in here} == {str(os.getpid())}
    assert str(os.getpid()) not in {verdict.answer for verdict in there}


def test_cheap_rows_are_graded_here_and_dear_ones_go_to_the_pool(pool: WorkerPool) -> None:
    here = {str(os.getpid())}
    cheap = grade(pool, ["pid"] * 2000, inline_s=60.0)
    assert {verdict.answer for verdict in cheap} == here
    # Thirty-two rows of 10 ms say that the rest would take too long.
    dear = grade(pool, ["slow"] * 32 + ["pid"] * 300, inline_s=0.5)
    assert here.isdisjoint(verdict.answer for verdict in dear[32:])
    assert [v.score for v in dear] == [0.0] * 32 + [1.0] * 300


def test_a_pool_of_one_worker_contains_its_rows_too() -> None:
    with WorkerPool(workers=1, memory_mb=256) as one:
        verdicts = grade(one, ["pid", "exit", "pid"])
        assert str(os.getpid()) not in {verdict.answer for verdict in verdicts}
        assert [verdict.score for verdict in verdicts] == [1.0, None, 1.0]


def test_all_workers_take_part(pool: WorkerPool) -> None:
    verdicts = grade(pool, ["slow", "pid"] * 60)
    assert len({verdict.answer for verdict in verdicts[1::2]}) == 2


def test_a_completion_that_cannot_travel_is_graded_here(pool: WorkerPool) -> None:
    deep: Any = "x"
    for _ in range(100_000):
        deep = [deep]
    messages: Any = [{"role": "assistant", "content": "a", "extra": deep}]
    try:
        assert [verdict.passed for verdict in grade(pool, ["a", messages, "b"])] == [
            True,
            True,
            False,
        ]
    finally:
        while isinstance(deep, list):  # freeing it in one go would overflow the C stack
            deep = deep.pop()
            messages[0]["extra"] = None


def test_a_verifier_that_cannot_travel_grades_here(pool: WorkerPool) -> None:
    class Local(Echo):
        pass

    verdicts = grade(pool, ["pid"] * 30, verifier=Local())
    assert {verdict.answer for verdict in verdicts} == {str(os.getpid())}


def test_a_verifier_that_workers_cannot_import_grades_here(
    pool: WorkerPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    # As a trainer's loader does that runs a file under a name of its own.
    monkeypatch.setattr(Echo, "__module__", "loaded_by_hand")
    monkeypatch.setitem(sys.modules, "loaded_by_hand", sys.modules["tests.runtime.verifiers"])
    verdicts = grade(pool, ["pid"] * 30)
    assert {verdict.answer for verdict in verdicts} == {str(os.getpid())}


def test_a_pool_that_cannot_start_is_an_error() -> None:
    with (
        WorkerPool(workers=2, preload=["no_such_module"]) as broken,
        pytest.raises(ConfigError, match="no_such_module"),
    ):
        grade(broken, ["a"] * 30)


def test_a_verifier_that_returns_no_verdict_abstains(pool: WorkerPool) -> None:
    for inline_rows in (0, 100):
        verdict = grade(pool, ["nothing"], inline_rows=inline_rows)[0]
        assert verdict.reason is Reason.ENGINE_FAILURE
        assert verdict.detail == "echo: verify returned NoneType"


def test_columns_of_unequal_length_are_an_error(pool: WorkerPool) -> None:
    with pytest.raises(ConfigError, match="references has 2 entries for 1 completions"):
        grade(pool, ["a"], ["a", "b"])
    with pytest.raises(ConfigError, match="contexts has 0 entries for 1 completions"):
        grade(pool, ["a"], contexts=[])
