"""The program that prints the figures of the SQL verifier runs, on a handful."""

from benchmarks import sql_verifier


def test_the_tables_are_filled() -> None:
    pairs = [pair for pair in sql_verifier.read_pairs() if pair.reference["dialect"] == "sqlite"]
    few = [pair for pair in pairs if pair.id.startswith(("join", "type"))]
    assert sql_verifier.accuracy(few, (5,)).rows[0][2] == "0"
    assert len(sql_verifier.speed(few, passes=1).rows) == 3  # without the peer
    rows = dict(sql_verifier.soak(few, 20).rows)
    assert rows["queries graded"] == "20"
    assert rows["wrong verdicts"] == rows["processes left"] == "0"
