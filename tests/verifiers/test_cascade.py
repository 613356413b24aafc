"""A cascade: which stage decides, what is heard, and what is counted."""

import asyncio

import pytest

from rewardkit import Cascade, ChoiceVerifier, Reason, Verdict, Verifier
from rewardkit.errors import ConfigError, InvalidReferenceError
from rewardkit.noise import AppealsEstimator, TwoSidedAudit
from rewardkit.verifiers.cascade import AppealCounts, count_appeals
from tests._needs import needs
from tests.verifiers.judge.scripted import ScriptedServer


class Rule(Verifier):
    """Right is what equals the reference; `?` is left open, `!` is forbidden."""

    name = "rule"

    def verify(self, completion, reference, /, **context):
        if completion == "?":
            return Verdict(None, Reason.UNPROVED)
        if completion == "!":
            return Verdict(0.0, Reason.FORBIDDEN)
        same = completion == reference
        return Verdict(float(same), Reason.MATCH if same else Reason.MISMATCH)


class Judge(Verifier):
    """Right is what holds the reference; `abstain` gets no verdict. Counts what it saw."""

    name = "judge"

    def __init__(self):
        self.seen = []

    def verify(self, completion, reference, /, **context):
        self.seen.append(completion)
        if "abstain" in completion or completion == "??":
            return Verdict(None, Reason.ENGINE_FAILURE)
        right = str(reference) in completion or completion == "?"
        return Verdict(float(right), Reason.MATCH if right else Reason.MISMATCH)


@pytest.mark.parametrize(
    ("completion", "score", "stage", "asked"),
    [
        ("17", 1.0, "first", None),
        ("it is 17", 1.0, "second", "appeal"),
        ("it is 18", 0.0, "first", "appeal"),
        ("17, abstain", 0.0, "first", "appeal"),
        ("?", 1.0, "second", "undecided"),
        ("!", 0.0, "first", None),
    ],
)
def test_the_verdict_says_which_stage_decided(completion, score, stage, asked):
    with Cascade(first=Rule(), second=Judge()) as cascade:
        verdict = cascade.verify(completion, "17")
        [batched] = cascade.verify_batch([completion], ["17"])
        awaited = asyncio.run(cascade.averify(completion, "17"))
    for one in (verdict, batched, awaited):
        assert one.score == score
        found = one.evidence["cascade"]
        assert (found["stage"], found["asked"]) == (stage, asked)
        assert one.detail.startswith(f"cascade: {'judge' if stage == 'second' else 'rule'}:")


def test_the_judge_sees_only_what_was_rejected_or_left_open():
    judge = Judge()
    cascade = Cascade(first=Rule(), second=judge)
    cascade.verify_batch(["17", "18", "?", "!"], ["17"] * 4, note=list("abcd"))
    assert judge.seen == ["18", "?"]
    judge.seen.clear()
    never = Cascade(first=Rule(), second=judge, appeal_share=0.0, undecided=False)
    assert never.verify("?", "17").score is None
    assert never.verify("it is 17", "17").score == 0.0
    assert judge.seen == []


def test_the_share_that_is_heard_depends_on_the_row_alone():
    completions = [f"it is {number}" for number in range(2000)]
    references = ["x"] * 2000
    judge = Judge()
    cascade = Cascade(first=Rule(), second=judge, appeal_share=0.3)
    cascade.verify_batch(completions, references)
    heard = set(judge.seen)
    assert 520 < len(heard) < 680
    judge.seen.clear()
    for completion in reversed(completions[:200]):
        cascade.verify(completion, "x")
    assert set(judge.seen) == heard & set(completions[:200])
    judge.seen.clear()
    Cascade(first=Rule(), second=judge, appeal_share=0.3, seed=1).verify_batch(
        completions, references
    )
    assert set(judge.seen) != heard


def test_counts_feed_the_noise_estimates():
    completions = ["17"] * 6 + ["it is 17"] * 3 + ["18", "abstain", "?", "!"]
    cascade = Cascade(first=Rule(), second=Judge(), audit_share=1.0)
    counts = count_appeals(cascade.verify_batch(completions, ["17"] * len(completions)))
    assert counts == AppealCounts(
        accepted=6,
        rejected=6,
        undecided=1,
        appealed=4,
        flipped=3,
        checked_accepted=6,
        right_accepted=6,
        unheard=1,
    )
    estimator = counts.feed_appeals(AppealsEstimator(share=1.0))
    assert estimator.rho1 == pytest.approx(3 / 9, abs=1e-4)
    audit = counts.feed_audit(TwoSidedAudit())
    assert (audit.checked_rejected, audit.right_rejected) == (4, 3)
    assert count_appeals([Verdict(1.0, Reason.MATCH)]) == AppealCounts()


def test_the_estimate_finds_the_rate_at_which_rules_miss():
    # 1,000 right answers, of which the rule misses 200; a tenth of the rejections is heard.
    completions = ["17"] * 800 + [f"17 as {n}" for n in range(200)] + [f"n{n}" for n in range(900)]
    estimator = AppealsEstimator(share=0.1, decay=0.0)
    rates = []
    for seed in range(20):
        cascade = Cascade(first=Rule(), second=Judge(), appeal_share=0.1, seed=seed)
        counts = count_appeals(cascade.verify_batch(completions, ["17"] * 1900))
        rates.append(counts.feed_appeals(estimator).rho1)
    assert sum(rates) / 20 == pytest.approx(0.2, abs=0.03)


def test_stages_are_made_by_name_and_have_references_of_their_own():
    needs("httpx")
    with (
        ScriptedServer() as server,
        Cascade(
            first="choice",
            first_options={"labels": ["yes", "no"]},
            second="judge",
            second_options={"base_url": server.url},
            second_reference="text",
        ) as cascade,
    ):
        assert isinstance(cascade.first, ChoiceVerifier)
        verdict = cascade.verify("I would say sure", "yes", text="sure")
        assert (verdict.score, verdict.evidence["cascade"]["stage"]) == (1.0, "second")
        with pytest.raises(InvalidReferenceError, match="no column 'text'"):
            cascade.verify("I would say sure", "yes")
        assert cascade.check_reference("yes") == []


@pytest.mark.parametrize(
    "options",
    [
        {"appeal_share": 1.5},
        {"audit_share": -0.1},
        {"accept_at": 0.0},
        {"first_options": {"x": 1}},
        {"first": "no_such"},
        {"appeal_reasons": ("nope",)},
    ],
    ids=str,
)
def test_options_outside_their_values_are_refused(options):
    with pytest.raises((ConfigError, ValueError)):
        Cascade(**{"first": Rule(), "second": Judge()} | options)
