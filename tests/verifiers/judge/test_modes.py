"""What each mode asks, and what the answers are worth."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewardkit import Reason
from rewardkit.errors import ConfigError, InvalidReferenceError
from rewardkit.verifiers.judge import Criterion, Rubric, SkillLibrary
from rewardkit.verifiers.judge.votes import count_votes
from tests.verifiers.judge.scripted import ScriptedServer

POINTS = st.floats(-10, 10).filter(lambda points: abs(points) > 1e-3)


def saying(*answers):
    """A judge that gives these answers to its calls in turn."""
    turn = iter(answers)
    return lambda call: dict.fromkeys(call.items, next(turn))


def better(word):
    """A judge that prefers the side with a word, wherever it stands."""

    def rule(call):
        a, b = word in str(call.data["A"]), word in str(call.data["B"])
        return {"verdict": "TIE" if a == b else "A" if a else "B"}

    return rule


@pytest.mark.parametrize(("step", "score"), [("1", 0.0), ("3", 0.5), ("4", 0.75), ("5", 1.0)])
def test_a_scale_gives_the_place_on_it(judge_on, step, score):
    with ScriptedServer(rule=saying(step)) as server:
        verdict = judge_on(server, mode="scale", rubric="Is it kind?").verify("Dear you", None)
        assert verdict.score == score
        assert server.calls[0].data["guideline"] == "Is it kind?"


def test_a_scale_of_ones_own_and_a_number_outside_it(judge_on):
    with ScriptedServer(rule=saying("7", "11")) as server:
        judge = judge_on(server, mode="scale", scale=(0, 10), rubric="x")
        assert judge.verify("text", None).score == pytest.approx(0.7)
        verdict = judge.verify("text", None)
        assert (verdict.score, verdict.evidence["unreadable"]) == (None, "out_of_set")


RUBRIC = [
    {"criterion": "Oslo", "points": 3},
    {"criterion": "Norway", "points": 1},
    {"criterion": "rude", "points": -2},
]


@pytest.mark.parametrize(
    ("text", "score"),
    [
        ("Oslo in Norway", 1.0),
        ("Oslo", 0.75),
        ("Oslo, you rude one", 0.25),
        ("rude", 0.0),  # -2 of 4, held to 0
        ("nothing", 0.0),
    ],
)
@pytest.mark.parametrize("apart", [False, True])
def test_a_rubric_gives_the_points_met_by_the_points_to_earn(server, judge_on, text, score, apart):
    judge = judge_on(server, mode="rubric", rubric=RUBRIC, apart=apart)
    verdict = judge.verify(text, None)
    assert verdict.score == pytest.approx(score)
    assert set(verdict.parts) == {"c1", "c2", "c3"}
    assert len(server.calls) == (3 if apart else 1)


def test_criteria_of_the_row_come_after_those_of_the_verifier(server, judge_on):
    judge = judge_on(server, mode="rubric", rubric=Rubric((Criterion("Oslo"),)))
    verdict = judge.verify("Oslo at the fjord", {"criteria": ["fjord", "rain"]})
    assert verdict.parts == {"c1": 1.0, "c2": 1.0, "c3": 0.0}
    with pytest.raises(InvalidReferenceError, match="criteria"):
        judge_on(server, mode="rubric").verify("x y", None)


@given(st.lists(st.tuples(POINTS, st.booleans()), min_size=1, max_size=8))
def test_a_rubric_is_in_the_unit_interval_and_monotone(rows):
    rubric = Rubric((*(Criterion("x", p) for p, _ in rows), Criterion("y", 1.0)))
    met = [*(is_met for _, is_met in rows), False]
    score = rubric.score(met)
    positive = sum(max(p, 0.0) for p, _ in rows) + 1.0
    total = sum(p for (p, is_met) in rows if is_met)
    assert score == pytest.approx(min(max(total / positive, 0.0), 1.0))
    for index, (points, _) in enumerate(rows):
        other = [*met]
        other[index] = True
        assert rubric.score(other) >= score or points < 0 or met[index]


def test_a_rubric_without_anything_to_earn_is_refused():
    with pytest.raises(ConfigError, match="above 0"):
        Rubric((Criterion("rude", -1.0),))


@pytest.mark.parametrize("structured", ["auto", "off"])
def test_a_pair_is_asked_in_both_orders(judge_on, structured):
    with ScriptedServer(rule=better("good")) as server:
        judge = judge_on(server, mode="pairwise", structured=structured)
        assert judge.verify("a good one", {"rival": "a bad one"}).score == 1.0
        assert judge.verify("a bad one", {"rival": "a good one"}).score == 0.0
        assert judge.verify("a good one", {"rival": "another good one"}).score == 0.5
        first, second = server.calls[:2]
        assert {first.data["A"], second.data["A"]} == {"a good one", "a bad one"}


def test_a_judge_that_prefers_the_first_place_decides_nothing(judge_on):
    with ScriptedServer(rule=lambda call: {"verdict": "A"}) as server:
        verdict = judge_on(server, mode="pairwise").verify("one", {"rival": "two"})
        assert (verdict.score, verdict.reason) == (None, Reason.UNPROVED)
        tie = judge_on(server, mode="pairwise", disagreement="tie").verify("one", {"rival": "two"})
        assert tie.score == 0.5


def test_both_orders_of_equivalence_must_agree(judge_on):
    def first_place(call):
        return {"verdict": "CORRECT" if next(iter(call.data)) == "response" else "INCORRECT"}

    with ScriptedServer(rule=first_place) as server:
        verdict = judge_on(server, both_orders=True).verify("17", "17")
        assert (verdict.score, verdict.reason) == (None, Reason.UNPROVED)
    with ScriptedServer() as server:
        assert judge_on(server, both_orders=True).verify("17", "17").passed
        assert len(server.calls) == 2


def test_contrasts_count_the_wrong_references_that_lose_twice(judge_on):
    def agrees(call):
        response = call.data["response"]
        said = [side for side in "AB" if call.data[side] in response]
        return {"verdict": said[0] if len(said) == 1 else "TIE"}

    reference = {"answer": "share", "wrong": ["keep", "sell"]}
    with ScriptedServer(rule=agrees) as server:
        judge = judge_on(server, mode="contrastive")
        assert judge.verify("We share it", reference).score == 1.0
        assert judge.verify("We keep it", reference).score == 0.0
        half = judge.verify("We share it, or sell it", reference)
        assert (half.score, half.parts) == (0.5, {"against_1": 1.0, "against_2": 0.0})
        with pytest.raises(InvalidReferenceError, match="wrong"):
            judge.verify("We share it", "share")


CHOICES = {"A": "Oslo", "B": "Riga"}


def test_consistency_asks_where_the_reasoning_leads_and_hides_the_choice(judge_on):
    def leads(call):
        assert "response" not in call.data
        named = [key for key, city in CHOICES.items() if city in call.data["reasoning"]]
        return {"verdict": named[0] if len(named) == 1 else "NONE"}

    with ScriptedServer(rule=leads) as server:
        judge = judge_on(server, mode="consistency")
        reference = {"choices": CHOICES}
        assert judge.verify("<think>It must be Oslo.</think>A", reference).passed
        assert judge.verify("<think>It must be Oslo.</think>B", reference).score == 0.0
        assert judge.verify("Oslo or Riga, who knows.\nAnswer: A", reference).score == 0.0
        assert judge.verify("It must be Riga.\nAnswer: B", None, choices=["Oslo", "Riga"]).passed
        asked = len(server.calls)
        assert judge.verify("A", reference).reason is Reason.NO_ANSWER
        assert judge.verify("<think>Oslo</think>A or B", reference).reason is Reason.AMBIGUOUS
        assert len(server.calls) == asked
        with pytest.raises(InvalidReferenceError, match="choices"):
            judge.verify("<think>x</think>A", None)


SKILLS = [
    {"name": "convert", "checklist": ["metres"], "keywords": ["convert", "unit"]},
    {
        "name": "compute",
        "checklist": [{"criterion": "sum", "points": 2}, {"criterion": "check", "points": 2}],
        "keywords": ["add", "compute"],
    },
]


def test_each_subgoal_is_judged_by_the_checklist_of_its_skill(judge_on):
    def rule(call):
        if "criteria" in call.data:
            return {
                k: "MET" if call.data["criteria"][k] in call.data["response"] else "UNMET"
                for k in call.items
            }
        return {"verdict": "compute"}

    with ScriptedServer(rule=rule) as server:
        judge = judge_on(server, mode="skills", skills=SKILLS)
        subgoals = ["Convert the unit", {"subgoal": "then the rest", "skill": "compute"}]
        verdict = judge.verify("in metres, the sum is 5", {"subgoals": subgoals})
        assert verdict.parts == {"1_convert": 1.0, "2_compute": 0.5}
        assert verdict.score == 0.75
        assert len(server.calls) == 2
        # What neither a name nor a keyword routes is routed by the judge, from the closed list.
        verdict = judge.verify("the sum, a check", {"subgoals": ["finish it"]})
        assert (verdict.parts, len(server.calls)) == ({"1_compute": 1.0}, 4)
        assert server.calls[2].items == {"verdict": ["convert", "compute"]}
        with pytest.raises(InvalidReferenceError, match="no skill"):
            judge.verify("x y", {"subgoals": [{"subgoal": "x", "skill": "dance"}]})


def test_routing_needs_a_leader():
    library = SkillLibrary.from_json(SKILLS)
    assert library.route("convert units, convert") == library.get("CONVERT")
    assert library.route("convert and add") is None
    assert library.route("dance") is None
    with pytest.raises(ConfigError, match="own"):
        SkillLibrary.from_json([SKILLS[0], SKILLS[0]])


@pytest.mark.parametrize(
    ("scores", "rule", "veto", "score"),
    [
        ([1, 1, 0], "majority", 1, 1.0),
        ([1, 0, 0], "majority", 1, 0.0),
        ([1, 0], "majority", 1, None),
        ([1, None, None], "majority", 1, None),
        ([1, 1, None], "majority", 1, 1.0),
        ([1, 1, 0], "veto", 1, 0.0),
        ([1, 1, 0], "veto", 2, 1.0),
        ([1, None, 0], "veto", 2, None),
        ([1, None, 1], "veto", 1, None),
        ([0, None, None], "veto", 1, 0.0),
        ([1, 1, 1], "unanimous", 1, 1.0),
        ([1, 1, None], "unanimous", 1, None),
        ([1, 0.5, None], "mean", 1, 0.75),
        ([1, None], "mean", 1, None),
    ],
)
def test_votes(scores, rule, veto, score):
    assert count_votes(scores, rule, veto=veto).score == score


def test_a_panel_asks_all_models_and_counts_their_votes(judge_on):
    def by_model(call):
        return {"verdict": "INCORRECT" if call.body["model"] == "strict" else "CORRECT"}

    with ScriptedServer(rule=by_model) as server:
        options = {"model": "a", "panel": ("b", "strict")}
        assert judge_on(server, **options).verify("17", "17").passed
        verdict = judge_on(server, **options, vote="veto").verify("17", "17")
        assert verdict.score == 0.0
        assert [member["score"] for member in verdict.evidence["panel"]] == [1.0, 1.0, 0.0]


def test_questions_come_from_the_reference_or_the_columns(server, judge_on):
    judge = judge_on(server)
    chat = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "8 + 9?"}]
    judge.verify("17", "17", prompt=chat)
    judge.verify("17", {"answer": 17, "question": "own"}, question="other")
    assert [call.data["question"] for call in server.calls] == ["8 + 9?", "own"]
