"""The page shows what the scored file holds, whatever a model wrote."""

import html
import json
import re
from html.parser import HTMLParser

import pytest

from rewardkit import Reason
from rewardkit.errors import ConfigError, DataError
from rewardkit.report import collect_report, render_report, write_report
from rewardkit.report.sample import Sample
from rewardkit.report.words import REASON_WORDS
from rewardkit.scoring import score_file
from tests.scoring.exact import ExactVerifier

HOSTILE = [
    "</script><script>document.title='pwned'</script> four",
    "<img src=x onerror=document.title='pwned'> four",
    "$name ${settings} $$ $examples four",
    "\ud800 \x00 \x1b[2J \u202e four",
    "--><!-- ]]> <![CDATA[ </style></details></section></main> four",
    "&lt;b&gt; &amp; \"quotes\" 'single' four",
    "x" * 20_000 + " four",
    "<a href='javascript:alert(1)'>five",
    "unsure",
    "",
]


def make_rows(count):
    return [
        {"id": f"q{i}", "prompt": f"{i}?", "completion": HOSTILE[i % 10], "reference": "four"}
        for i in range(count)
    ]


def score(tmp_path, name, rows, **options):
    source = tmp_path / f"{name}-in.jsonl"
    source.write_text("".join(json.dumps(row) + "\n" for row in rows))
    out = tmp_path / f"{name}.jsonl"
    verifier = ExactVerifier(**options)
    score_file(verifier, source, out, config={"verifier": "exact", **options})
    return out


@pytest.fixture
def scored(tmp_path):
    return score(tmp_path, "scored", make_rows(40))


class Page(HTMLParser):
    """Collects what a browser would: elements, their attributes, and scripts."""

    def __init__(self, text):
        super().__init__()
        self.tags: list[tuple[str, dict]] = []
        self.open: list[str] = []
        self.text: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in ("meta", "input", "img", "br"):
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def test_the_page_is_well_formed_and_has_only_its_own_elements(scored):
    page = Page(render_report(collect_report(scored)))
    assert page.open == []
    tags = [tag for tag, _ in page.tags]
    assert tags.count("script") == 1
    assert tags.count("style") == 1
    assert not {"img", "a", "iframe", "link", "object", "b"} & set(tags)
    for _, attributes in page.tags:
        assert not [name for name in attributes if name.startswith("on")]
        assert not {"src", "href"} & set(attributes)


def test_the_page_needs_no_network(scored):
    page = render_report(collect_report(scored))
    assert not re.findall(r"https?://|url\(|@import", page)
    [policy] = re.findall(r'Content-Security-Policy" content="([^"]*)"', page)
    assert policy.startswith("default-src 'none'")
    assert "'unsafe-inline'" not in policy.partition("script-src")[2]


def test_the_same_file_gives_the_same_bytes(scored):
    assert render_report(collect_report(scored)) == render_report(collect_report(scored))


def test_the_figures_are_on_the_page(scored):
    text = " ".join(" ".join(Page(render_report(collect_report(scored))).text).split())
    data = collect_report(scored)
    assert f"{100 * data.tally.pass_rate:.1f} %" in text
    for reason, tally in data.tally.reasons.items():
        assert reason in text
        assert f"{tally.count:,}" in text
    assert "verifier exact" in text
    assert "input scored-in.jsonl" in text


def test_every_reason_has_examples_and_words(scored):
    data = collect_report(scored)
    assert set(data.examples) == {"match", "mismatch", "unproved", "no_answer"}
    assert len(data.examples["match"]) == 12
    assert set(REASON_WORDS) == set(Reason)


def test_a_long_completion_is_cut_and_its_graded_span_marked(tmp_path):
    out = score(tmp_path, "long", [{"completion": "x" * 1_000_000 + " four", "reference": "four"}])
    page = render_report(collect_report(out))
    assert len(page) < 60_000
    assert "999,005 characters left out" in page
    assert "<mark>four</mark>" in page


def test_hidden_characters_are_shown(tmp_path):
    out = score(tmp_path, "hidden", [{"completion": "\u202e\ud800 four", "reference": "four"}])
    page = render_report(collect_report(out))
    assert '<span class="hidden" title="RIGHT-TO-LEFT OVERRIDE">U+202E</span>' in page
    assert '<span class="hidden" title="lone surrogate">U+D800</span>' in page


def test_a_report_does_not_grow_with_the_file(tmp_path):
    small = score(tmp_path, "small", make_rows(200))
    large = score(tmp_path, "large", make_rows(2000))
    pages = [render_report(collect_report(path)) for path in (small, large)]
    assert len(pages[1]) < len(pages[0]) * 1.2


def test_the_sample_does_not_depend_on_the_order():
    forwards, backwards = Sample(5), Sample(5)
    for i in range(200):
        forwards.offer(str(i), lambda i=i: i)
        backwards.offer(str(199 - i), lambda i=i: 199 - i)
    assert forwards.items() == list(reversed(backwards.items()))


def test_an_item_that_is_not_kept_is_not_made():
    made = []
    sample = Sample(3)
    for i in range(1000):
        sample.offer(str(i), lambda i=i: made.append(i))
    assert len(made) < 100


def test_two_scorings_are_compared_row_by_row(tmp_path):
    rows = [
        {"completion": word, "reference": "four"} for word in ("four", "FOUR", "Four", "five", "")
    ]
    strict = score(tmp_path, "strict", rows)
    folded = score(tmp_path, "folded", rows, fold_case=True)
    comparison = collect_report(folded, against=strict).comparison
    assert (comparison.matched, comparison.agreed) == (5, 3)
    assert comparison.cells == {
        ("passed", "passed"): 1,
        ("passed", "failed"): 2,
        ("failed", "failed"): 2,
    }
    assert [(d.example.verdict.outcome, d.other.outcome) for d in comparison.disagreements] == [
        ("passed", "failed")
    ] * 2
    text = " ".join(Page(render_report(collect_report(folded, against=strict))).text)
    assert "60.0 %" in text
    assert "Against strict.jsonl" in text


def test_rows_of_different_completions_are_matched_by_a_column(tmp_path):
    rows = make_rows(20)
    first = score(tmp_path, "first", rows)
    other = [{**row, "completion": "four"} for row in reversed(rows[5:])]
    second = score(tmp_path, "second", other)
    with pytest.raises(DataError, match=r"no row in common.*--id-column"):
        collect_report(first, against=second)
    comparison = collect_report(first, against=second, id_column="id").comparison
    assert (comparison.matched, comparison.only_here, comparison.only_there) == (15, 5, 0)


def test_a_column_that_does_not_identify_rows_is_an_error(tmp_path):
    scored = score(tmp_path, "scored", make_rows(20))
    with pytest.raises(DataError, match=r"two rows are known as.*--id-column"):
        collect_report(scored, against=scored, id_column="reference")
    with pytest.raises(DataError, match="no column 'nope'"):
        collect_report(scored, against=scored, id_column="nope")


def test_a_report_never_replaces_a_scored_file(tmp_path):
    first, second = (score(tmp_path, name, make_rows(10)) for name in ("first", "second"))
    before = first.read_bytes(), second.read_bytes()
    for out in (first, second):
        with pytest.raises(ConfigError, match="which the report would replace"):
            write_report(first, out, against=second)
    assert (first.read_bytes(), second.read_bytes()) == before


IDENTIFIED = '{"row_id": "0:0123456789abcdef", "score": 1, "verdict": '


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "empty"),
        ('{"completion": "a"}', "not a file written by"),
        (IDENTIFIED + '{"score": 1, "reason": "x"}}', "damaged verdict"),
        (IDENTIFIED + '{"score": 7, "reason": "match"}}', "damaged verdict"),
    ],
)
def test_what_is_no_scored_file_is_refused(tmp_path, text, message):
    path = tmp_path / "scored.jsonl"
    path.write_text(text)
    with pytest.raises(DataError, match=message):
        collect_report(path)


def test_a_report_that_cannot_be_written_is_one_clear_error(scored, tmp_path):
    with pytest.raises(DataError, match="cannot be written"):
        write_report(scored, tmp_path / "no" / "report.html")


def test_a_hostile_file_name_is_escaped(tmp_path):
    out = score(tmp_path, "<img src=x onerror=alert(1)>", make_rows(3))
    page = Page(render_report(collect_report(out)))
    assert "img" not in [tag for tag, _ in page.tags]
    assert html.unescape("&lt;img src=x onerror=alert(1)&gt;.jsonl") in "".join(page.text)
