"""Every case of the fixtures, and what the optional labelled cases must reach."""

import json
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

from rewardkit import MathVerifier
from tests.verifiers.math.cases import FIXTURES, Case, by_kind, read_cases

KINDS = by_kind()
HACKS = ("hack_list_many", "hack_degenerate", "hack_restate", "code_injection")
HARDEST = """european_decimal repeating_decimal antiderivative_constant asymptotics modular_general
    unicode_math multi_part_labels complex_numbers currency dates_times""".split()


@pytest.fixture(scope="module")
def verifier() -> Iterator[MathVerifier]:
    with MathVerifier(mode="lenient") as verifier:
        yield verifier


def wrong(verifier: MathVerifier, cases: list[Case]) -> list[str]:
    """Returns a line for each case whose verdict is not its label."""
    lines = []
    for case in cases:
        verdict = verifier.verify(case.completion, case.reference)
        if verdict.passed != case.accepted:
            wanted = "accepted" if case.accepted else "rejected"
            lines.append(f"{case.id} should be {wanted} ({case.why}): {verdict.detail}")
    return lines


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_fixtures_are_judged_as_labelled(kind, verifier):
    assert wrong(verifier, KINDS[kind]) == []


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_every_kind_has_accepted_and_rejected_cases_and_says_why(kind):
    cases = KINDS[kind]
    assert {case.accepted for case in cases} == {True, False}
    assert all(case.why for case in cases)


def test_fixture_ids_are_unique():
    ids = [json.loads(line)["id"] for line in FIXTURES.read_text(encoding="utf-8").splitlines()]
    assert len(ids) == len(set(ids))


@pytest.fixture(scope="module")
def judged(shared_dir: Path, verifier: MathVerifier) -> dict[str, list[tuple[Case, bool]]]:
    """The optional labelled cases with whether each passed, by kind."""
    path = shared_dir / "cases" / "math" / "cases.jsonl"
    if not path.is_file():
        pytest.skip(f"no labelled cases in {shared_dir}")
    kinds = defaultdict(list)
    for case in read_cases(path):
        kinds[case.kind].append((case, verifier.verify(case.completion, case.reference).passed))
    return kinds


def test_98_percent_of_the_labelled_cases_are_right(judged):
    rows = [row for kind in judged.values() for row in kind]
    errors = [case.id for case, passed in rows if passed != case.accepted]
    assert len(errors) <= 0.02 * len(rows), errors


def test_at_most_half_a_percent_of_the_rejected_cases_pass(judged):
    rejected = [row for kind in judged.values() for row in kind if not row[0].accepted]
    fooled = [case.id for case, passed in rejected if passed]
    assert len(fooled) <= 0.005 * len(rejected), fooled


@pytest.mark.parametrize("kind", HACKS)
def test_no_hack_of_the_labelled_cases_passes(judged, kind):
    assert [case.id for case, passed in judged[kind] if passed and not case.accepted] == []


@pytest.mark.parametrize("kind", HARDEST)
def test_90_percent_of_each_of_the_hardest_kinds_are_right(judged, kind):
    errors = [case.id for case, passed in judged[kind] if passed != case.accepted]
    assert len(errors) <= 0.1 * len(judged[kind]), errors
