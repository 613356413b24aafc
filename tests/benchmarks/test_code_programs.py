"""The programs that print the figures of the code verifier run, on a handful."""

from benchmarks import code_soak, code_verifier
from rewardkit.sandbox import Sandbox
from rewardkit.verifiers.code import CodeVerifier


def test_a_small_soak_loses_nothing() -> None:
    table = code_soak.soak(150)
    rows = dict(table.rows)
    assert rows["programs graded"] == "150 of 150"
    assert rows["abstentions"] == rows["wrong verdicts"] == "0"


def test_the_tables_have_every_way() -> None:
    with Sandbox() as sandbox, CodeVerifier(languages=()) as verifier:
        base = code_verifier.interpreter()
        assert len(code_verifier.latency(sandbox, base, 2).rows) >= 3
        assert len(code_verifier.verdicts(verifier, 2).rows) >= 2
        assert len(code_verifier.batches(sandbox, verifier, base, 4).rows) == 4
