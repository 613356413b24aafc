import pytest

from rewardkit.verifiers.dafny.spec import compare, find_banned, read_declarations
from rewardkit.verifiers.formal.selftest import read_suite
from tests._needs import needs_program

BY_TEXT = {r["name"]: r for r in read_suite("dafny")}
SPEC = "method M(x: int) returns (y: int)\n  ensures y > x\n"


@pytest.fixture(scope="module")
def verifier():
    needs_program("dafny", get="apt-get install dafny")
    from rewardkit.verifiers.dafny import DafnyVerifier

    with DafnyVerifier() as made:
        yield made


@pytest.mark.parametrize("name", BY_TEXT)
def test_no_attack_is_accepted_and_every_honest_program_is(verifier, name):
    row = BY_TEXT[name]
    verdict = verifier.verify(row["submission"], {"statement": row["statement"]})
    assert verdict.score == float(row["kind"] == "honest"), (row["why"], verdict)


@pytest.mark.parametrize(
    ("program", "same"),
    [
        (SPEC + "{ y := x + 1; }", True),
        (SPEC.replace("y > x", "y   >   x // more") + "{ y := x + 1; }", True),
        (SPEC + "  decreases x\n{ y := x + 1; }", True),
        (SPEC.replace("y > x", "y >= x") + "{ y := x; }", False),
        (SPEC + "  ensures true\n{ y := x + 1; }", False),
        (SPEC.replace("method", "lemma") + "{ }", False),
        (SPEC, False),
        ("module A {\n" + SPEC + "{ y := x + 1; } }", False),
        (SPEC + "{ y := x + 1; }\n" + SPEC + "{ y := x + 1; }", False),
    ],
)
def test_the_specification_is_compared_by_its_tokens(program, same):
    assert (compare(SPEC, program) is None) is same


def test_a_comment_or_a_name_is_not_an_assumption():
    assert not find_banned(SPEC + "{ // assume nothing\n y := x + 1; }", SPEC)
    assert not find_banned(SPEC + "{ var assumed := x; y := assumed + 1; }", SPEC)
    assert find_banned(SPEC + "{ assume/**/ false; }", SPEC) == "assume"


def test_clauses_are_read():
    (one,) = read_declarations("method M(s: set<int>) requires 0 in {0, 1} ensures |s| > 0\n{ }")
    assert one.clauses("requires") == [("0", "in", "{", "0", ",", "1", "}")]
    assert one.clauses("ensures") == [("|", "s", "|", ">", "0")]


def test_a_weaker_specification_is_measured(verifier):
    from rewardkit.verifiers.dafny import specification_strength

    weak = SPEC.replace("y > x", "y >= x") + "{ y := x; }"
    strong = SPEC.replace("y > x", "y == x + 1") + "{ y := x + 1; }"
    measured = specification_strength(verifier, SPEC, strong, "M")
    assert (measured.subset, measured.implied, measured.at_least_as_strong) == (0.0, 1.0, True)
    measured = specification_strength(verifier, SPEC, weak, "M")
    assert (measured.implied, measured.at_least_as_strong) == (0.0, False)
