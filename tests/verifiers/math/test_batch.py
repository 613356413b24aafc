"""A batch is its rows, one by one: the same verdicts, in the same order, each row graded once."""

from collections.abc import Iterator

import pytest

from rewardkit import MathVerifier
from rewardkit.errors import ConfigError, InvalidReferenceError
from rewardkit.verdict import Reason, Verdict
from tests.verifiers.math import contexts
from tests.verifiers.math.cases import FIXTURES, read_cases

CASES = [c for c in read_cases(FIXTURES) if c.kind not in ("resource_bomb", "long_output")]


@pytest.fixture(scope="module")
def verifier() -> Iterator[MathVerifier]:
    with MathVerifier(mode="lenient", workers=2, timeout_s=60.0) as verifier:
        yield verifier


def same(left: Verdict, right: Verdict) -> bool:
    """True if two verdicts differ in nothing but the time that they took."""
    return {**left.to_dict(), "seconds": 0} == {**right.to_dict(), "seconds": 0}


@pytest.mark.parametrize("rows", [0, 1, 5, 127, 128, 129, len(CASES)])
def test_a_batch_has_the_verdicts_of_its_rows_in_order(rows, verifier):
    cases = CASES[:rows]
    batch = verifier.verify_batch([c.completion for c in cases], [c.reference for c in cases])
    assert len(batch) == rows
    for case, verdict in zip(cases, batch, strict=True):
        assert same(verdict, verifier.verify(case.completion, case.reference)), case.id


def test_the_symbolic_tier_decides_in_batches_too(verifier):
    verdicts = verifier.verify_batch(*zip(*contexts.ROWS))
    assert [v.score for v in verdicts] == contexts.EXPECTED
    assert verdicts[-1].evidence["tier"] == "symbolic"


def test_the_order_of_the_rows_changes_no_verdict(verifier):
    cases = CASES[:300]
    texts, references = [c.completion for c in cases], [c.reference for c in cases]
    forth = verifier.verify_batch(texts, references)
    back = verifier.verify_batch(texts[::-1], references[::-1])[::-1]
    assert all(same(a, b) for a, b in zip(forth, back, strict=True))


def test_equal_rows_are_graded_once(verifier):
    case = CASES[0]
    verdicts = verifier.verify_batch(
        [case.completion, "\\boxed{1}"] * 500, [case.reference, "2"] * 500
    )
    assert len(verdicts) == 1000
    assert len({id(v) for v in verdicts}) == 2


def test_equal_completions_with_other_references_are_other_rows(verifier):
    scores = [v.score for v in verifier.verify_batch(["\\boxed{5}"] * 3, ["5", "6", 5])]
    assert scores == [1.0, 0.0, 1.0]


def test_hostile_rows_cost_their_neighbours_nothing(verifier):
    hostile = [
        "\\boxed{9^{9^{9^9}}}",
        "{" * 100_000,
        "\\boxed{\ud800}",
        "",
        None,
        "\\boxed{((9!)!)!}",
    ]
    completions = [h if i % 2 else "\\boxed{7}" for h in hostile for i in range(40)]
    verdicts = verifier.verify_batch(completions, ["7"] * len(completions))
    assert [v.score for v in verdicts] == [
        0.0 if i % 2 else 1.0 for _ in hostile for i in range(40)
    ]


def test_completions_of_every_shape_are_read(verifier):
    completions = ["\\boxed{5}", [{"role": "assistant", "content": "\\boxed{5}"}], None, []]
    verdicts = verifier.verify_batch(completions, ["5"] * 4)
    assert [v.score for v in verdicts] == [1.0, 1.0, 0.0, 0.0]


def test_the_prompt_tells_the_task_from_its_answer(verifier):
    row = ["The answer is \\boxed{\\binom{10}{3}}."], ["120"]
    prompt = "Compute $\\binom{10}{3}$."
    assert verifier.verify_batch(*row)[0].passed
    assert verifier.verify_batch(*row, prompt=[prompt])[0].reason is Reason.UNEVALUATED
    assert (
        verifier.verify_batch(*row, prompt=[[{"role": "user", "content": prompt}]])[0].score == 0.0
    )
    assert verifier.verify(row[0][0], row[1][0], prompt=prompt).reason is Reason.UNEVALUATED


def test_other_columns_are_carried_and_not_read(verifier):
    assert verifier.verify_batch(["\\boxed{5}"], ["5"], level=["hard"], prompt=["What is it?"])[
        0
    ].passed


def test_columns_of_another_length_are_refused_by_name(verifier):
    with pytest.raises(ConfigError, match="references has 1 entries for 2"):
        verifier.verify_batch(["a", "b"], ["5"])
    with pytest.raises(ConfigError, match="prompt has 3 entries"):
        verifier.verify_batch(["a"], ["5"], prompt=["a", "b", "c"])


@pytest.mark.parametrize("rows", [2, 500])
def test_a_reference_that_cannot_be_read_is_the_callers_error(rows, verifier):
    references = ["5"] * (rows - 1) + [""]
    with pytest.raises(InvalidReferenceError):
        verifier.verify_batch([f"\\boxed{{{i}}}" for i in range(rows)], references)
