"""The labelling desk and its HTTP side, without a browser."""

import random

import pytest

from rewardkit.errors import ConfigError, DataError
from rewardkit.labels import Judgement, LabelJournal, read_scored_rows, truths_of_column
from rewardkit.serve import LabelDesk, read_contents
from tests._needs import needs
from tests.labels.scored import write_scored

RIGHT, WRONG, UNSURE = Judgement.RIGHT, Judgement.WRONG, Judgement.UNSURE


@pytest.fixture
def scored(tmp_path):
    return write_scored(tmp_path / "scored.jsonl", rows=400, rho0=0.05, rho1=0.3, abstain=4)


@pytest.fixture
def make(scored):
    journals = []

    def build(**options):
        journal = LabelJournal(f"{scored}.labels.jsonl")
        journals.append(journal)
        rows = read_scored_rows(scored, by=["source"])
        return LabelDesk(rows, read_contents(scored), journal, clock=lambda: "now", **options)

    yield build
    for journal in journals:
        journal.close()


@pytest.fixture
def truths(scored):
    return truths_of_column(read_scored_rows(scored, keep=["right"]))


def label(desk, truths, count, annotator="a"):
    """Labels rows by the truth, and returns them in the order in which they came."""
    rows = []
    for _ in range(count):
        row = desk.next_row(annotator)
        desk.give(row.row_id, RIGHT if truths[row.row_id] else WRONG, annotator)
        rows.append(row)
    return rows


def test_a_row_comes_again_until_it_is_judged(make):
    desk = make()
    first = desk.next_row("a")
    assert desk.next_row("a") is first
    assert desk.next_row("b") is not first
    desk.give(first.row_id, UNSURE, "a")
    assert desk.next_row("a") is not first


def test_the_order_is_random_within_a_verdict_and_the_same_at_every_start(scored):
    one, other = read_contents(scored), read_contents(scored)
    assert one == other != read_contents(scored, seed=1)
    numbers = [int(row.row_id.partition(":")[0]) for row in one[True]]
    assert numbers != sorted(numbers)
    assert abs(sum(numbers[:60]) / 60 - 200) < 60


def test_the_first_rows_are_of_both_verdicts_and_later_ones_follow_the_plan(make, truths):
    desk = make()
    rows = label(desk, truths, 20)
    assert sum(row.accepted for row in rows) == 10
    more = label(desk, truths, 100)
    # What is missed is among the rejected rows, of which there are more too.
    assert sum(row.accepted for row in more) < 40


def test_labels_needed_fall_to_none(make, truths):
    desk = make(half_width=0.1)
    assert desk.status().needed is None
    assert desk.status().rates is None
    assert "label more rows" in desk.status().missing
    label(desk, truths, 40)
    first = desk.status().needed
    label(desk, truths, 200)
    assert first > 0 == desk.status().needed


def test_rates_of_the_desk_hold_the_true_ones(make, truths):
    desk = make()
    label(desk, truths, 300)
    rates = desk.status().rates
    assert rates.rho0.low < 0.05 < rates.rho0.high
    assert rates.rho1.low < 0.3 < rates.rho1.high
    channel = desk.channel(("source",))
    assert channel.rates.audit == rates.audit
    assert set(channel.strata) == {"web", "book"}


def test_every_row_comes_once_and_then_none(make, truths):
    desk = make()
    rows = label(desk, truths, 400)
    assert len({row.row_id for row in rows}) == 400
    assert desk.next_row("a") is None
    assert desk.last_row("a") == rows[-1]


def test_what_was_judged_before_is_not_asked_again(make, truths):
    desk = make()
    before = label(desk, truths, 30)
    desk._journal.close()
    again = make()
    assert again.status().labels == {"a": 30}
    assert again.last_row("a").row_id == before[-1].row_id
    assert not {r.row_id for r in before} & {r.row_id for r in label(again, truths, 30)}


@pytest.mark.parametrize(("overlap", "shared"), [(0.0, 0), (0.25, 10), (1.0, 40)])
def test_a_share_of_the_second_persons_rows_is_the_firsts(make, truths, overlap, shared):
    desk = make(overlap=overlap)
    hers = {row.row_id for row in label(desk, truths, 60)}
    his = {row.row_id for row in label(desk, truths, 40, "b")}
    assert len(hers & his) == pytest.approx(shared, abs=1)
    agreement = desk.status().agreement
    assert (agreement is None) == (shared == 0)


def test_disputes_and_doubts_are_outside_the_rates(make):
    desk = make(overlap=1.0)
    one, two = desk.next_row("a"), None
    desk.give(one.row_id, RIGHT, "a")
    desk.give(one.row_id, WRONG, "b")
    two = desk.next_row("a")
    desk.give(two.row_id, UNSURE, "a")
    status = desk.status()
    assert (status.disputed, status.unsure, status.rates) == (1, 1, None)


@pytest.mark.parametrize(
    "options", [{"overlap": 2}, {"half_width": 0}, {"half_width": 0.7}, {"confidence": 1}]
)
def test_options_outside_their_range_are_refused(make, options):
    with pytest.raises(ConfigError):
        make(**options)


def test_a_label_needs_a_row_and_a_name(make):
    desk = make()
    with pytest.raises(ConfigError, match="no row"):
        desk.give("nonsense", RIGHT, "a")
    with pytest.raises(ConfigError, match="name"):
        desk.give(desk.next_row("a").row_id, RIGHT, " ")


def test_a_file_without_its_columns_is_refused(scored):
    with pytest.raises(DataError, match="no column 'response'"):
        read_contents(scored, completion_column="response")


def test_content_is_markup_whatever_it_holds(tmp_path):
    import json

    path = write_scored(tmp_path / "scored.jsonl", rows=1)
    row = json.loads(path.read_text())
    row["completion"] = "<b>\u202e \\boxed{<i>}" + "x" * 100_000
    row["prompt"] = [{"role": "user", "content": "<script>"}]
    row["reference"] = {"a": ["<u>"]}
    row["verdict"]["answer"] = "<i>"
    path.write_text(json.dumps(row) + "\n")
    contents = read_contents(path)
    [shown] = contents[True] + contents[False]
    text = " ".join([shown.prompt, shown.completion, shown.reference, shown.answer, shown.verdict])
    for tag in ("<b>", "<script>", "<u>", "<i>"):
        assert tag not in text
    assert "<mark>&lt;i&gt;</mark>" in shown.completion
    assert "left out" in shown.completion


class TestHttp:
    """The page's answers to requests."""

    @pytest.fixture
    def client(self, make, tmp_path):
        needs("starlette")
        from rewardkit.serve._app import make_app

        httpx, anyio = needs("httpx"), needs("anyio")
        app = make_app(make(), token="secret", title="t", out=tmp_path / "noise.json")

        def request(method, path, host="127.0.0.1", **options):
            async def send():
                transport = httpx.ASGITransport(app=app)
                async with httpx.AsyncClient(
                    transport=transport, base_url=f"http://{host}"
                ) as client:
                    return await client.request(method, path, **options)

            return anyio.run(send)

        return request

    def label(self, client, judgement):
        row = client("GET", "/secret/next?as=a").json()["row"]
        body = {"row_id": row["row_id"], "judgement": judgement, "annotator": "a"}
        return client("POST", "/secret/label", json=body)

    def test_a_row_is_sent_without_its_verdict(self, client):
        answer = client("GET", "/secret/next?as=a")
        assert set(answer.json()["row"]) == {
            "row_id", "prompt", "completion", "reference", "answer"
        }  # fmt: skip
        assert "SECRET" not in answer.text
        assert "SECRET" in self.label(client, "right").text

    @pytest.mark.parametrize("path", ["/", "/next?as=a", "/wrong/next?as=a", "/wrong/"])
    def test_nothing_is_found_without_the_token(self, client, path):
        assert client("GET", path).status_code == 404

    def test_another_host_is_refused(self, client):
        assert client("GET", "/secret/", host="evil.example").status_code == 400

    def test_the_page_loads_nothing_from_elsewhere(self, client):
        for name in ("", "label.js", "label.css"):
            answer = client("GET", f"/secret/{name}")
            assert answer.status_code == 200
            assert "default-src 'none'" in answer.headers["content-security-policy"]
            text = answer.text.replace("http://www.w3.org/2000/svg", "")
            assert "http://" not in text
            assert "https://" not in text

    @pytest.mark.parametrize(
        "options",
        [
            {"content": "x"},
            {"content": "{", "headers": {"content-type": "application/json"}},
            {"json": []},
            {"json": {}},
            {"json": {"row_id": "1", "judgement": "fine", "annotator": "a"}},
            {"json": {"row_id": "1", "judgement": "right", "annotator": "a"}},
            {"json": {"row_id": "x" * 20_000}},
        ],
    )
    def test_what_is_no_label_is_refused_and_nothing_is_saved(self, client, options, scored):
        answer = client("POST", "/secret/label", **options)
        assert answer.status_code == 400
        assert answer.json()["error"]
        with open(f"{scored}.labels.jsonl") as file:
            assert file.read() == ""

    def test_rates_are_exported_once_there_are_any(self, client, tmp_path):
        assert "label more rows" in client("POST", "/secret/export", json={}).json()["error"]
        chance = random.Random(1)
        for _ in range(20):
            self.label(client, chance.choice(["right", "wrong"]))
        assert client("POST", "/secret/export", json={}).status_code == 200
        assert (tmp_path / "noise.json").exists()
