"""Labels: a journal that loses nothing, and the counts that come of it."""

import os
import signal
import subprocess
import sys

import pytest

from rewardkit.errors import ConfigError, DataError
from rewardkit.labels import (
    Judgement,
    Label,
    LabelJournal,
    count_truths,
    dependence_on_columns,
    read_labels,
    read_scored_rows,
    tally_labels,
    truths_of_column,
)
from tests._needs import needs
from tests.labels.scored import write_scored


@pytest.fixture
def scored(tmp_path):
    return write_scored(tmp_path / "scored.jsonl", abstain=5)


def label(row_id, judgement="right", annotator="a"):
    return Label(row_id, Judgement(judgement), annotator)


def test_a_journal_is_read_back_as_it_was_written(tmp_path):
    path, given = tmp_path / "labels.jsonl", [label("1"), label("2", "unsure", "b \ud800")]
    with LabelJournal(path) as journal:
        for one in given:
            journal.append(one)
    assert list(read_labels(path)) == given
    with LabelJournal(path) as journal:
        assert journal.labels == given


def test_a_torn_line_is_cut_off_and_the_rest_stays(tmp_path):
    path = tmp_path / "labels.jsonl"
    path.write_bytes(label("1").to_line() + b'{"row_id": "2", "judg')
    assert list(read_labels(path)) == [label("1")]
    with LabelJournal(path) as journal:
        journal.append(label("3"))
    assert list(read_labels(path)) == [label("1"), label("3")]


def test_a_kill_after_a_label_loses_nothing(tmp_path, root):
    path = tmp_path / "labels.jsonl"
    program = (
        "import os, signal, sys\n"
        "from rewardkit.labels import Judgement, Label, LabelJournal\n"
        "journal = LabelJournal(sys.argv[1])\n"
        "for i in range(50):\n"
        "    journal.append(Label(str(i), Judgement.RIGHT, 'a'))\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(path)], cwd=root, env={**os.environ}, check=False
    )
    assert done.returncode == -signal.SIGKILL
    assert [one.row_id for one in read_labels(path)] == [str(i) for i in range(50)]


def test_two_writers_of_one_journal_are_kept_apart(tmp_path):
    path = tmp_path / "labels.jsonl"
    with LabelJournal(path), pytest.raises(ConfigError, match="another labelling page"):
        LabelJournal(path)
    LabelJournal(path).close()


@pytest.mark.parametrize(
    "line",
    ["{}", "nonsense", '{"row_id": 1, "judgement": "right", "annotator": "a"}',
     '{"row_id": "1", "judgement": "fine", "annotator": "a"}'],
)  # fmt: skip
def test_a_damaged_line_is_named(tmp_path, line):
    path = tmp_path / "labels.jsonl"
    path.write_text(f"{line}\n")
    with pytest.raises(DataError, match=r"labels\.jsonl:1"):
        list(read_labels(path))
    with pytest.raises(DataError, match=r"none\.jsonl"):
        list(read_labels(tmp_path / "none.jsonl"))


def test_abstentions_are_counted_and_left_out(scored):
    rows = read_scored_rows(scored)
    assert (len(rows.rows), rows.abstained) == (200, 5)
    assert rows.accept_rate == rows.accepted / 200


def test_strata_are_the_values_of_columns(scored):
    rows = read_scored_rows(scored, by=["source", "verdict.reason"])
    assert {row.stratum for row in rows.rows.values()} == {
        f"{source} / {reason}" for source in ("web", "book") for reason in ("match", "mismatch")
    }
    with pytest.raises(DataError, match="'nonsense'"):
        read_scored_rows(scored, by=["nonsense"])
    with pytest.raises(ConfigError):
        read_scored_rows(scored, accept_at=0)


def test_labels_are_counted_by_verdict_and_truth(scored):
    rows = read_scored_rows(scored, by=["source"], keep=["right"])
    truths = truths_of_column(rows)
    tally = tally_labels(rows, [label(i, "right" if t else "wrong") for i, t in truths.items()])
    assert tally.truths == truths
    accepted_right = sum(truths[i] and r.accepted for i, r in rows.rows.items())
    assert tally.audit.accepted_right == accepted_right
    assert tally.audit.labelled == 200 == tally.audit.accepted_total + tally.audit.rejected_total
    assert tally.strata["web"] + tally.strata["book"] == tally.audit
    assert not count_truths(rows, truths, uniform=True)[0].is_by_verdict


def test_the_last_judgement_of_a_person_counts_and_a_dispute_counts_for_nobody(scored):
    rows = read_scored_rows(scored)
    one, two, three, four, *_ = rows.rows
    tally = tally_labels(
        rows,
        [
            label(one, "wrong"), label(one, "right"),
            label(two, "right"), label(two, "wrong", "b"),
            label(three, "unsure"),
            label(four, "right"), label(four, "right", "b"),
            label("stranger", "right"),
        ],
    )  # fmt: skip
    assert tally.truths == {one: True, four: True}
    assert (tally.unsure, tally.disputed) == (1, 1)
    assert (tally.agreement.rows, tally.agreement.observed) == (2, 0.5)


def test_labels_of_another_file_are_refused(scored):
    with pytest.raises(DataError, match="another file"):
        tally_labels(read_scored_rows(scored), [label("stranger")])


def test_the_agreement_is_that_of_statsmodels(scored):
    np, inter_rater = needs("numpy"), needs("statsmodels.stats.inter_rater")
    rows = read_scored_rows(scored)
    words = ["right", "wrong", "unsure"]
    pairs = [(words[i % 3], words[(i * i + i // 7) % 3]) for i in range(90)]
    labels = []
    for row_id, (one, other) in zip(rows.rows, pairs):
        labels += [label(row_id, one), label(row_id, other, "b")]
    table = np.array([[pairs.count((one, other)) for other in words] for one in words])
    expected = inter_rater.cohens_kappa(table).kappa
    assert tally_labels(rows, labels).agreement.kappa == pytest.approx(expected)
    same = [label(i, "right", a) for i in list(rows.rows)[:4] for a in "ab"]
    assert tally_labels(rows, same).agreement.kappa is None


@pytest.mark.parametrize("value", ["maybe", 2, [1], {"a": 1}])
def test_a_truth_that_is_none_is_named(tmp_path, value):
    import json

    path = write_scored(tmp_path / "scored.jsonl", rows=1)
    row = {**json.loads(path.read_text()), "right": value}
    path.write_text(json.dumps(row) + "\n")
    with pytest.raises(DataError, match="the truth is true"):
        truths_of_column(read_scored_rows(path, keep=["right"]))


def test_a_truth_column_without_a_truth_is_refused(scored):
    with pytest.raises(DataError, match="no decided row has a truth"):
        truths_of_column(read_scored_rows(scored, keep=["nonsense"]))


def test_errors_that_depend_on_a_column_are_found(scored):
    rows = read_scored_rows(scored, keep=["right", "length", "source"])
    found = dependence_on_columns(rows, truths_of_column(rows), {"length": 1, "source": 2})
    assert found[0].feature.startswith("length > ")
    assert found[0].p_value < 0.001
    assert {one.feature for one in found[2:]} == {"source = web", "source = book"}
