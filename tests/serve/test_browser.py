"""The labelling page in a real browser: keys label, the verdict is hidden, nothing is lost."""

import json
import os
import re
import signal
import subprocess
import sys
import time

import pytest

from rewardkit.labels import read_labels, read_scored_rows, truths_of_column
from rewardkit.noise import Channel
from tests._needs import needs
from tests.labels.scored import write_scored
from tests.serve.browser import open_browser

pytestmark = pytest.mark.browser


@pytest.fixture
def scored(tmp_path):
    path = write_scored(tmp_path / "scored.jsonl", rows=120)
    lines = path.read_text().splitlines()
    row = json.loads(lines[0])
    evil = "<script>document.title='pwned'</script><img src=x onerror=document.title='pwned'>\u202e"
    rows = [json.dumps({**json.loads(line), "prompt": evil + row["prompt"]}) for line in lines]
    path.write_text("".join(f"{line}\n" for line in rows))
    return path


@pytest.fixture
def serve(root):
    """Starts the command; returns its process and one address for each annotator."""
    needs("uvicorn")
    started = []

    def start(scored, *options):
        program = "from rewardkit.cli import main; main()"
        process = subprocess.Popen(
            [sys.executable, "-u", "-c", program, "label", str(scored), *options],
            env={**os.environ, "PYTHONPATH": str(root), "COLUMNS": "200"},
            stdout=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        addresses = []
        for line in process.stdout:
            if line.startswith("labels:"):
                break
            addresses.append(line.removeprefix("open: ").strip())
        return process, addresses

    yield start
    for process in started:
        process.kill()
        process.wait(30)
        process.stdout.close()


@pytest.fixture
def browser(tmp_path):
    with open_browser(tmp_path / "profile") as page:
        yield page


def shown_id(browser):
    """Returns the number of the row that is shown."""
    return int(re.search(r"completion (\d+)", browser.text("#completion"))[1])


def shows(number):
    """Returns the script that tells whether this row is shown."""
    return f"document.querySelector('#completion').textContent.includes('completion {number}:')"


def judge(browser, key):
    """Presses a key, waits for the label to be taken, and returns which row it was for."""
    before, mine = shown_id(browser), int(browser.text("#mine"))
    browser.press(key)
    browser.wait(f"document.querySelector('#mine').textContent == '{mine + 1}'")
    browser.wait(f"!({shows(before)})")
    return before


def test_keys_label_rows_and_the_verdict_shows_only_after(serve, browser, scored):
    rows = read_scored_rows(scored, keep=["right"])
    by_number = {int(i.partition(":")[0]): row for i, row in rows.rows.items()}
    truths = truths_of_column(rows)
    _, [address] = serve(scored, "--half-width", "0.1", "--by", "source")
    browser.open(address)
    browser.wait("!document.querySelector('#task').hidden")
    judged = []
    for _ in range(40):
        row = by_number[shown_id(browser)]
        if not judged:
            assert "SECRET" not in browser.run("document.documentElement.outerHTML")
            assert browser.text("#verdict") == ""
        judged.append(judge(browser, "r" if truths[row.row_id] else "w"))
        said = browser.text("#verdict")
        assert ("accepted" in said) == row.accepted
        assert "SECRET VERDICT" in said
    assert len(set(judged)) == 40
    assert browser.run("document.title") == "scored.jsonl · rewardkit label"
    shown = browser.text("#rates")
    assert "rho0" in shown
    assert "more labels are needed" in browser.text("#needed")
    saved = list(read_labels(f"{scored}.labels.jsonl"))
    assert [int(one.row_id.partition(":")[0]) for one in saved] == judged
    assert {one.row_id: one.judgement == "right" for one in saved} == {
        one.row_id: truths[one.row_id] for one in saved
    }
    browser.press("e")
    browser.wait("document.querySelector('#exported').textContent != ''")
    channel = Channel.load(scored.with_name("noise.json"))
    assert channel.rates.audit.labelled == 40
    assert set(channel.strata) == {"web", "book"}
    percent = f"{100 * channel.rates.rho1.value:.1f} %"
    assert percent in shown


def test_a_kill_loses_no_label_and_the_same_command_goes_on(serve, browser, scored):
    process, [address] = serve(scored)
    browser.open(address)
    browser.wait("!document.querySelector('#task').hidden")
    judged = [judge(browser, key) for key in "rwuwr"]
    process.send_signal(signal.SIGKILL)
    process.wait(30)
    saved = list(read_labels(f"{scored}.labels.jsonl"))
    assert [one.judgement.value for one in saved] == "right wrong unsure wrong right".split()
    browser.press("r")
    browser.wait("document.querySelector('#error').textContent.includes('Nothing is lost')")
    _, [again] = serve(scored)
    browser.open(again)
    browser.wait("document.querySelector('#mine').textContent == '5'")
    assert shown_id(browser) not in judged
    judge(browser, "w")
    assert len(list(read_labels(f"{scored}.labels.jsonl"))) == 6


def test_a_row_can_be_judged_anew(serve, browser, scored):
    _, [address] = serve(scored)
    browser.open(address)
    browser.wait("!document.querySelector('#task').hidden")
    first = judge(browser, "r")
    browser.press("b")
    browser.wait(shows(first))
    browser.press("w")
    browser.wait("document.querySelector('#verdict').textContent.includes('you said wrong')")
    saved = list(read_labels(f"{scored}.labels.jsonl"))
    assert [(one.row_id.partition(":")[0], one.judgement.value) for one in saved] == [
        (str(first), "right"), (str(first), "wrong")
    ]  # fmt: skip
    assert browser.text("#mine") == "1"


def test_two_people_share_rows_and_their_agreement_shows(serve, browser, scored):
    _, [ada, ben] = serve(scored, "--annotator", "ada", "--annotator", "ben", "--overlap", "0.5")
    browser.open(ada)
    browser.wait("!document.querySelector('#task').hidden")
    hers = [judge(browser, "rw"[i % 2]) for i in range(6)]
    browser.open(ben)
    browser.wait("document.querySelector('#who').textContent == 'ben'")
    browser.wait("!document.querySelector('#task').hidden")
    his = [judge(browser, "r") for _ in range(6)]
    shared = len(set(hers) & set(his))
    assert shared == 3
    assert f"of {shared} rows" in browser.text("#agreement")


def test_no_script_of_a_model_runs(serve, browser, scored):
    _, [address] = serve(scored)
    browser.open(address)
    browser.wait("!document.querySelector('#task').hidden")
    assert "<script>" in browser.text("#prompt")
    assert "U+202E" in browser.text("#prompt")
    time.sleep(0.2)
    assert browser.run("document.title") == "scored.jsonl · rewardkit label"
