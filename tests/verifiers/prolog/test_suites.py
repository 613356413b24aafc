"""The paper's rewards against values worked out by hand from their definitions."""

import math
from collections.abc import Iterator

import pytest

from rewardkit.errors import ConfigError
from rewardkit.verdict import Reason, Verdict
from rewardkit.verifiers.prolog import PrologVerifier
from rewardkit.verifiers.prolog.suites import (
    CURRICULUM,
    OwnSuite,
    PaperSuite,
    format_reward,
    hardcoded_by_pattern,
    semantic_reward,
    structure_reward,
    syntax_reward,
    token_cosine,
    xml_reward,
)

CODE = """:- use_module(library(clpq)).
trays(6).
sold(95).
solve(L) :- trays(T), sold(S), {L = T*24 - S}."""
TEXT = f"<reasoning>\n144 - 95\n</reasoning>\n<answer>\n{CODE}\n</answer>\n"
REFERENCE = ":- use_module(library(clpq)).\nsolve(X) :- {X = 6*24 - 95}."


@pytest.fixture(scope="module")
def suites() -> Iterator[dict[int, PaperSuite]]:
    with PrologVerifier(timeout_s=2, inferences=1_000_000) as verifier:
        yield {
            n: PaperSuite(n, verifier=verifier, similarity=lambda code, reference: 0.8)
            for n in (1, 2, 3)
        }


def answer(code: str) -> str:
    return f"<reasoning>\nx\n</reasoning>\n<answer>\n{code}\n</answer>\n"


@pytest.mark.parametrize(
    ("completion", "correctness"),
    [
        (TEXT, 2.0),
        (answer("solve(49.0000001)."), 2.0),
        (answer("solve('49')."), 2.0),
        (answer("solve(49).\nsolve(50)."), 2.0),
        (answer("solve(X) :- X is 6*24."), 1.0),
        (answer("solve(X) :- {X = 49}."), 0.5),
        (answer("solve(X) :- X = 6*24 - 95."), 0.5),
        (answer("solve(_)."), 0.5),
        (answer("solve(X) :- fail."), 0.5),
        (answer("solve("), 0.5),
        (answer(":- use_module(library(clpq)).\nsolve(X) :- {3*X = 7}."), 0.5),
        (answer("solve(X) :- shell(id), X = 49."), 0.5),
        ("no program at all", 0.5),
        ("", 0.5),
    ],
)
def test_correctness_pays_half_a_point_for_anything(
    suites: dict[int, PaperSuite], completion: str, correctness: float
) -> None:
    assert suites[1].reward(completion, 49, REFERENCE).components["correctness"] == correctness


def test_suite_1_is_a_plain_sum(suites: dict[int, PaperSuite]) -> None:
    reward = suites[1].reward(TEXT, 49, REFERENCE)
    # 2 correct; syntax at its cap of 1; both layouts 1/2 each; four tags once each, and the empty
    # rest after the last one gives back a thousandth: 4/8 + 1/1000.
    assert reward.components == pytest.approx(
        {"correctness": 2, "syntax": 1, "strict_format": 0.5, "soft_format": 0.5, "xml": 0.5}
    )
    assert reward.total == pytest.approx(4.5)
    assert suites[1].reward("", 49, REFERENCE).total == 0.5


def test_suite_2_adds_twice_the_cosine(suites: dict[int, PaperSuite]) -> None:
    reward = suites[2].reward(TEXT, 49, REFERENCE)
    assert reward.components["semantic"] == pytest.approx(1.6)
    assert reward.total == pytest.approx(6.1)
    assert suites[2].reward("", 49, REFERENCE).components["semantic"] == 0.0


@pytest.mark.parametrize("progress", [0.0, 0.5, 1.0])
def test_suite_3_is_twice_the_weighted_mean(suites: dict[int, PaperSuite], progress: float) -> None:
    reward = suites[3].reward(TEXT, 49, REFERENCE, progress=progress)
    share = 1 / (1 + math.exp(-12 * (progress - 0.5)))
    # The reference names use_module, library and solve; the code has all of them.
    semantic = (0.5 * 1.6 + 0.5 * 2 * 1.0) / 2
    structure = (min(0.3 * 2, 1) + 0.5) / 2
    layout = min(1.0, 1.5 * 0.67)
    expected = 2 * (
        (0.35 - 0.25 * share) * semantic
        + (0.25 - 0.15 * share) * layout
        + 0.10 * 1.0
        + (0.15 + 0.30 * share) * 1.0
        + (0.15 + 0.10 * share) * structure
    )
    assert reward.total == pytest.approx(expected)


def test_the_curriculum_moves_from_early_to_late_and_sums_to_one() -> None:
    for progress in (-1, 0, 0.2, 0.5, 0.9, 1, 7):
        assert sum(CURRICULUM.weights(progress).values()) == pytest.approx(1.0)
    assert CURRICULUM.weights(0.5)["semantic"] == pytest.approx(0.225)
    early, late = CURRICULUM.weights(0)["correctness"], CURRICULUM.weights(1)["correctness"]
    assert early == pytest.approx(0.15 + 0.3 / (1 + math.exp(6)))
    assert late == pytest.approx(0.45 - 0.3 / (1 + math.exp(6)))


@pytest.mark.parametrize(
    ("text", "reward"),
    [
        ("", 0.0),
        ("solve(1).", 0.4),
        (":- use_module(library(clpq)).", 0.8),
        ("Hello.\nWorld.\n", 0.4),
        ("solve(1). solve(2). solve(3). solve(4). solve(5).", 1.0),
    ],
)
def test_syntax_counts_looks(text: str, reward: float) -> None:
    assert syntax_reward(text) == pytest.approx(reward)


def test_tags_are_counted_and_what_follows_is_deducted() -> None:
    assert xml_reward(TEXT, floor=False) == pytest.approx(0.5)
    late = TEXT + "x" * 10
    # Ten characters after "</answer>\n", and eleven after "</answer>" less the one that is free.
    assert xml_reward(late, floor=False) == pytest.approx(0.5 - 0.010 - 0.010)
    long = TEXT + "x" * 1000
    assert xml_reward(long, floor=False) == pytest.approx(0.5 - 1.0 - 1.0)
    assert xml_reward(long, floor=True) == pytest.approx(0.0)


@pytest.mark.parametrize(
    ("text", "reward"),
    [
        (TEXT, 1.0),
        (TEXT + "\n", 1.0),
        (TEXT + "more", 0.5),
        ("<reasoning>a</reasoning> <answer>b</answer>", 0.5),
        ("<answer>b</answer><reasoning>a</reasoning>", 0.0),
        ("<reasoning>\n</reasoning>\n<answer>\n</answer>\n", 0.5),
    ],
)
def test_layouts_are_strict_or_loose(text: str, reward: float) -> None:
    assert format_reward(text) == reward


def test_similarity_is_half_cosine_and_half_names() -> None:
    reward = semantic_reward("a(1). b(2).", "a(1). c(3).", lambda code, program: 0.1)
    assert reward == pytest.approx(0.5 * 0.5 + 0.5 * 2 * 0.5)
    assert semantic_reward("", "a(1).", lambda code, program: 1.0) == 0.0


def test_structure_counts_clauses_and_braces_and_fines_one_pattern() -> None:
    assert structure_reward(CODE, 2, 1) == pytest.approx(1.1)
    assert structure_reward(CODE, 9, 9) == pytest.approx(1.5)
    assert structure_reward("solve(X) :- {X = 49}.", 0, 1) == pytest.approx(0.1)
    assert structure_reward("", 3, 3) == 0.0


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("solve(X) :- {X = 49}.", True),
        ("solve(X) :-\n  { X = 49 }.", True),
        ("a(1).\nsolve(X):-{Y = X, X = 7}.", True),
        ("solve(X) :- {X = 49 + 0}.", False),
        ("solve(X) :- X = 49.", False),
        ("solve(49).", False),
    ],
)
def test_the_papers_pattern_finds_one_form_of_hard_coding(code: str, found: bool) -> None:
    assert hardcoded_by_pattern(code) is found


def test_patterns_take_linear_time_on_hostile_text() -> None:
    assert not hardcoded_by_pattern("solve(" * 30_000)
    assert not hardcoded_by_pattern("solve(" * 30_000 + ")")
    assert format_reward("<reasoning>\n" + "\n</reasoning>\n<answer>\n" * 8_000) == 0.0
    assert syntax_reward(". " * 100_000) <= 1.0


def test_the_default_similarity_is_a_cosine_of_tokens() -> None:
    assert token_cosine("a(1).", "a(1).") == pytest.approx(1.0)
    assert token_cosine("a b", "c d") == 0.0
    # (1, 1) and (1, 0): 1 / sqrt(2).
    assert token_cosine("a b", "a") == pytest.approx(1 / math.sqrt(2))
    assert token_cosine("", "a") == 0.0


def verdict(outcome: str, **parts: float) -> Verdict:
    score = float(outcome == "ok")
    return Verdict(score, Reason.MATCH, parts=parts, evidence={"outcome": outcome})


def test_our_suite_pays_nothing_for_trying() -> None:
    suite = OwnSuite()
    nothing = verdict("no_program", syntax=0.0, execution=0.0, semantics=0.0)
    broken = verdict("syntax_error", syntax=0.0, execution=0.0, semantics=0.0)
    unsafe = verdict("unsafe", syntax=1.0, execution=0.0, semantics=0.0)
    wrong = verdict("wrong", syntax=1.0, execution=1.0, semantics=0.0)
    assert [suite.reward(v).total for v in (nothing, broken, unsafe, wrong)] == [0.0] * 4
    right = verdict("ok", execution=1.0, semantics=1.0, auditability=1.0)
    written = verdict("ok", execution=1.0, semantics=1.0, auditability=0.0)
    assert suite.reward(right).total == 1.0
    assert suite.reward(written).total == 0.0
    assert suite.reward(Verdict(None, Reason.ENGINE_FAILURE)).total is None


def test_our_partial_credit_fades() -> None:
    half = verdict("wrong", execution=1.0, semantics=0.5)
    totals = [OwnSuite(most_partial=0.2).reward(half, progress=p).total for p in (0, 0.5, 1)]
    assert totals == pytest.approx(
        [0.1 * (1 - 1 / (1 + math.exp(6))), 0.05, 0.1 / (1 + math.exp(6))]
    )


def test_suites_refuse_what_they_are_not() -> None:
    with pytest.raises(ConfigError, match="1, 2 and 3"):
        PaperSuite(4)
    with pytest.raises(ConfigError, match="most_partial"):
        OwnSuite(most_partial=0.5)
