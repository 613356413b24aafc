"""What other auditors print is read as they mean it."""

import json
import sys

import pytest

from benchmarks.audit_peers import read_corpus_report, read_probe_report, run_tool
from tests._needs import needs

needs("hypothesis")


@pytest.mark.parametrize(
    ("failures", "exploits", "labels", "gate"),
    [
        ([], 0, set(), False),
        ([{"mode": "false negative", "id": "a"}], 0, {"false negative a"}, False),
        ([{"mode": "false positive", "id": "b"}], 1, {"false positive b"}, True),
        ([{"mode": None, "id": "c"}], 0, {"error c"}, True),
    ],
)
def test_a_report_by_cases_has_a_label_for_each_failure(failures, exploits, labels, gate):
    text = json.dumps({"failures": failures, "n_exploits_accepted": exploits})
    assert read_corpus_report(text) == (labels, gate)


@pytest.mark.parametrize("critical", [0, 2])
def test_a_report_by_probes_has_a_label_for_each_probe(critical):
    found = [{"attack": "empty", "severity": "warning"}]
    text = json.dumps({"families": [{"findings": found}], "summary": {"critical": critical}})
    assert read_probe_report(text) == ({"empty warning"}, critical > 0)


def test_a_tool_that_prints_no_report_says_nothing_but_that():
    said = run_tool([sys.executable, "-c", "print('Usage: …')"], read_probe_report)
    assert (said.ended, said.labels) == (False, frozenset())
