"""The page in a real browser: its script works, and no other script runs."""

import html
import re
import subprocess

import pytest

from rewardkit.report import write_report
from tests._needs import needs_program
from tests.report.test_report import make_rows, score

pytestmark = pytest.mark.browser


@pytest.fixture
def load(tmp_path):
    names = ("chromium", "chromium-browser", "google-chrome")
    chromium = needs_program(*names, get="apt-get install chromium")

    def load_page(path, search=""):
        """Returns the document as the browser sees it after its scripts ran."""
        flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
        profile = f"--user-data-dir={tmp_path / 'profile'}"
        done = subprocess.run(
            [chromium, *flags, profile, "--dump-dom", f"{path.as_uri()}{search}"],
            capture_output=True,
            text=True,
            timeout=120,
            check=True,
        )
        return done.stdout

    return load_page


@pytest.fixture
def report(tmp_path):
    scored = score(tmp_path, "scored", make_rows(40))
    folded = score(tmp_path, "folded", make_rows(40), fold_case=True)
    write_report(scored, tmp_path / "report.html", against=folded)
    return tmp_path / "report.html"


def examples(page):
    return re.findall(r'<details class="example" data-outcome="(\w+)"( hidden="")?>', page)


def test_no_script_of_a_model_runs(load, report):
    page = load(report)
    [title] = re.findall(r"<title>([^<]*) · rewardkit report</title>", page)
    assert html.unescape(title) == "scored.jsonl"
    assert "pwned" in page


def test_the_script_counts_what_it_shows(load, report):
    page = load(report)
    shown = [outcome for outcome, hidden in examples(page) if not hidden]
    assert len(shown) == len(examples(page)) > 20
    assert f"{len(shown)} of {len(shown)} examples" in page


def test_a_search_hides_what_does_not_fit(load, report):
    page = load(report, "#q=javascript")
    shown = [outcome for outcome, hidden in examples(page) if not hidden]
    assert set(shown) == {"failed"}
    assert 0 < len(shown) < len(examples(page))
    assert f"{len(shown)} of " in page


def test_a_search_without_a_hit_shows_nothing(load, report):
    page = load(report, "#q=zebra")
    assert not [outcome for outcome, hidden in examples(page) if not hidden]
    assert "0 of " in page
