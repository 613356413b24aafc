"""The page of a run's rollouts: what it holds, and what it does in a real browser."""

import json
import re

import pytest

from rewardkit.errors import ConfigError, DataError
from rewardkit.report import collect_rollouts, write_rollouts_page
from tests.serve.browser import open_browser

EVIL = (
    "</script><script>document.title='pwned'</script><img src=x onerror=\"document.title='pwned'\">"
)


def line(step, group, place):
    """A completion: of each group the first is right, the third cut off, the fourth undecided."""
    reward = [1.0, 0.0, 0.25, None][place] if group else 0.0
    reason = ["match", "mismatch", "partial", "timeout"][place] if group else "mismatch"
    text = [f"so \\boxed{{{step}}}", EVIL, "abc\u202edef", "\ud800"][place]
    return {
        "prompt": f"What is {step} + {group}? {EVIL}",
        "reference": str(step + group),
        "source": "sums",
        "completion": text,
        "step": step,
        "prompt_index": group,
        "group": group,
        "reward": reward,
        "components": {"math": reward, "<b>length": 0.5},
        "verdicts": {
            "math": {"score": reward, "reason": reason, "answer": text[-4:], "detail": f"d {EVIL}"}
        },
        "advantage": 0.5 - place / 4,
        "tokens": 10 + place,
        "truncated": place == 2,
    }


@pytest.fixture
def run(tmp_path):
    folder = tmp_path / "sums"
    folder.mkdir()
    rows = [line(step, group, i) for step in (1, 2, 3) for group in (0, 1) for i in range(4)]
    text = "".join(json.dumps(row) + "\n" for row in rows)
    (folder / "rollouts.jsonl").write_text(text, encoding="utf-8")
    return folder


def test_the_figures_are_of_all_completions_and_the_groups_a_sample_of_whole_ones(run):
    data = collect_rollouts(run, groups=2)
    assert [(s.step, s.rows, s.truncated, len(s.rewards)) for s in data.steps] == [
        (step, 8, 2, 7) for step in (1, 2, 3)
    ]
    assert data.steps[0].mean == pytest.approx(1.25 / 7)
    assert (data.name, data.group_count, len(data.groups)) == ("sums", 6, 2)
    assert all(len(group["rows"]) == 4 for group in data.groups)
    assert collect_rollouts(run / "rollouts.jsonl", groups=2).groups == data.groups


def test_the_page_asks_nobody_and_holds_what_a_model_wrote_as_data_alone(run):
    page = write_rollouts_page(run).read_text("utf-8")
    assert not re.search(r"(src|href)\s*=\s*[\"']?(https?:)?//", page)
    assert page.count("</script>") == 2
    assert "<img" not in page
    assert "default-src 'none'" in page
    assert write_rollouts_page(run, run / "again.html").read_text("utf-8") == page


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"step": "1"}, "usable 'step'"),
        ({"reward": "1"}, "usable 'reward'"),
        ({"verdicts": {"a": 1}}, "damaged"),
    ],
)
def test_a_line_that_the_trainer_did_not_write_is_named(run, change, message):
    with (run / "rollouts.jsonl").open("a") as file:
        file.write(json.dumps({**line(4, 0, 0), **change}) + "\n")
    with pytest.raises(DataError, match=rf"rollouts\.jsonl:25: .*{message}"):
        collect_rollouts(run)


def test_a_run_of_before_has_no_verdicts_and_a_page_all_the_same(run):
    row = line(1, 1, 0)
    del row["verdicts"]
    (run / "rollouts.jsonl").write_text(json.dumps(row) + "\n")
    (group,) = collect_rollouts(run).groups
    assert [c["name"] for c in group["rows"][0]["components"]] == ["math", "<b>length"]


def test_what_cannot_be_is_said(run, tmp_path):
    with pytest.raises(DataError):
        collect_rollouts(tmp_path)
    with pytest.raises(ConfigError, match="at least 1"):
        collect_rollouts(run, groups=0)
    with pytest.raises(ConfigError, match="would replace"):
        write_rollouts_page(run, run / "rollouts.jsonl")
    (run / "rollouts.jsonl").write_text("")
    with pytest.raises(DataError, match="no rollouts"):
        collect_rollouts(run)


SHOWN = "document.getElementById('shown')?.textContent"


def choose(browser, **fields):
    """Sets fields of the form as a person does, and returns what the page then counts."""
    script = "".join(
        f"document.querySelector('[name={name}]').value = {json.dumps(value)};"
        for name, value in fields.items()
    )
    browser.run(f"{script} document.getElementById('filter').dispatchEvent(new Event('input'))")
    return browser.run(SHOWN)


@pytest.mark.browser
def test_the_page_in_a_browser(run, tmp_path):
    page = write_rollouts_page(run)
    with open_browser(tmp_path / "profile") as browser:
        browser.open(page.as_uri())
        browser.wait(f"{SHOWN} == '24 completions in 6 groups'")
        assert browser.run("document.title") == "sums · rewardkit rollouts"
        assert choose(browser, **{"from": "2", "to": "2"}) == "8 completions in 2 groups"
        assert choose(browser, **{"from": "", "to": ""}, truncated="yes").startswith("6 ")
        assert choose(browser, truncated="", reason="math: timeout") == "3 completions in 3 groups"
        assert choose(browser, reason="", low="0.2", high="0.5") == "3 completions in 3 groups"
        assert choose(browser, low="", high="", decided="no") == "3 completions in 3 groups"
        assert choose(browser, decided="", contrast="no") == "12 completions in 3 groups"
        assert choose(browser, contrast="", q="boxed{3}") == "2 completions in 2 groups"
        faded = "document.querySelectorAll('.example[data-fits=no]').length"
        assert browser.run(faded) == 6
        assert choose(browser, q="", view="rows", reason="math: match").startswith("3 ")
        assert browser.run("document.querySelectorAll('#list .example').length") == 3
        assert choose(browser, view="groups", reason="", **{"from": "1", "to": "1"}).startswith("8")
        browser.run("document.querySelectorAll('details').forEach((d) => { d.open = true })")
        browser.wait("document.querySelectorAll('.body pre').length >= 10")
        body = browser.run("document.getElementById('list').innerText")
        assert "U+202E" in body
        assert "U+D800" in body
        assert EVIL in body
        assert "A +0.5" in body
        assert browser.run("document.querySelector('.verdicts').innerText").count("mismatch") == 1
        assert (
            browser.run("document.querySelectorAll('#list img, #list script, #list b').length") == 0
        )
        assert browser.run("document.title") == "sums · rewardkit rollouts"
        browser.screenshot(tmp_path / "page.png")
        browser.open(f"{page.as_uri()}#truncated=yes&view=rows")
        browser.run("location.reload()")
        browser.wait(f"{SHOWN} == '6 completions in 6 groups'")
