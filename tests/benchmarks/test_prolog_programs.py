"""The program that prints the figures of the Prolog verifier runs, on a handful."""

from benchmarks import prolog_verifier
from rewardkit.verifiers.prolog import PrologVerifier
from tests._needs import needs_program


def test_a_small_soak_loses_nothing() -> None:
    needs_program("swipl", get="apt-get install swi-prolog-nox")
    rows = dict(prolog_verifier.soak(100).rows)
    assert rows["programs graded"] == "100 of 100"
    assert rows["abstentions"] == rows["wrong verdicts"] == "0"


def test_the_table_has_every_way() -> None:
    needs_program("swipl", get="apt-get install swi-prolog-nox")
    with PrologVerifier() as full, PrologVerifier(audit=False) as short:
        assert len(prolog_verifier.latency(full, short, 1).rows) == 9
