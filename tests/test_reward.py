"""A reward is the number that its documentation computes, and None is never a number."""

import asyncio
import math
import pickle
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from rewardkit.completion import Completion, completion_text
from rewardkit.errors import ConfigError, InvalidReferenceError
from rewardkit.reward import Gate, Reward, RewardResult, Shaper
from rewardkit.verdict import Json, Reason, Verdict
from rewardkit.verifier import Verifier


@dataclass
class Exact(Verifier):
    """1 if the completion is the reference, 0 if not, None for the completion `?`."""

    name: str = "exact"
    contexts: list[dict[str, Any]] = field(default_factory=list)
    closed: int = 0

    def verify(self, completion: Completion, reference: Json, /, **context: Any) -> Verdict:
        if not isinstance(reference, str):
            raise InvalidReferenceError("a reference is a string")
        self.contexts.append(context)
        text = completion_text(completion)
        if text == "?":
            return Verdict(None, Reason.TIMEOUT)
        good = text == reference
        return Verdict(float(good), Reason.MATCH if good else Reason.MISMATCH, answer=text)

    def close(self) -> None:
        self.closed += 1


@dataclass(frozen=True)
class Column:
    """The shaper that reads its values from a column."""

    column: str

    def __call__(
        self, completions: Sequence[Completion], /, **columns: Sequence[Any]
    ) -> Sequence[float | None]:
        return columns[self.column]


def length(completions: Sequence[Completion], /, **columns: Sequence[Any]) -> list[float | None]:
    return [float(len(completion_text(completion))) for completion in completions]


def returns(values: Any) -> Shaper:
    return lambda completions, /, **columns: values


def total(reward: Reward, **values: float | None) -> float | None:
    return reward.score_one("", **values).score


def columns_reward(*names: str, **options: Any) -> Reward:
    return Reward({name: Column(name) for name in names}, **options)


# What comes back


def test_scores_components_and_verdicts_come_back_in_order() -> None:
    reward = Reward({"exact": Exact(), "length": length}, weights={"length": -0.1})
    result = reward.score(["a", "bb", "?"], reference=["a", "a", "a"])
    assert result.scores == [0.9, -0.2, None]
    assert result.components == {"exact": [1.0, 0.0, None], "length": [1.0, 2.0, 1.0]}
    assert [verdict.reason for verdict in result.verdicts["exact"]] == [
        Reason.MATCH,
        Reason.MISMATCH,
        Reason.TIMEOUT,
    ]
    assert list(result.verdicts) == ["exact"]
    assert len(result) == 3


def test_a_row_holds_what_belongs_to_one_completion() -> None:
    row = Reward({"exact": Exact(), "length": length}).score_one("bb", reference="bb")
    assert row.score == 3.0
    assert row.components == {"exact": 1.0, "length": 2.0}
    assert row.verdicts["exact"].answer == "bb"


def test_an_empty_batch_has_no_scores() -> None:
    result = Reward({"exact": Exact()}).score([], reference=[])
    assert result == RewardResult([], {"exact": []}, {"exact": []})


def test_a_verifier_sees_the_other_columns_and_a_shaper_sees_all() -> None:
    seen: list[dict[str, Sequence[Any]]] = []

    def spy(completions: Sequence[Completion], /, **columns: Sequence[Any]) -> list[float | None]:
        seen.append(columns)
        return [0.0] * len(completions)

    exact = Exact()
    Reward({"exact": exact, "spy": spy}).score(["a", "b"], reference=["a", "b"], level=[1, 2])
    assert exact.contexts == [{"level": 1}, {"level": 2}]
    assert seen == [{"reference": ["a", "b"], "level": [1, 2]}]


def test_each_verifier_may_read_its_own_column() -> None:
    first, second = Exact(), Exact()
    reward = Reward({"a": first, "b": second}, references={"b": "tests"})
    assert reward.score_one("x", reference="x", tests="y").components == {"a": 1.0, "b": 0.0}
    assert second.contexts == [{"reference": "x"}]


def test_chat_messages_and_none_are_completions() -> None:
    messages = [{"role": "assistant", "content": "a"}]
    assert Reward({"exact": Exact()}).score([messages, None], reference=["a", "a"]).scores == [
        1.0,
        0.0,
    ]


# How components become a total


def test_a_gate_that_is_not_passed_gives_its_value_and_nothing_else_counts() -> None:
    reward = columns_reward("format", "math", gates={"format": Gate(otherwise=-1.0)})
    assert total(reward, format=1.0, math=0.5) == 0.5
    assert total(reward, format=0.99, math=1.0) == -1.0
    assert total(reward, format=0.0, math=None) == -1.0


def test_the_first_gate_decides() -> None:
    gates = {"a": Gate(otherwise=-1.0), "b": Gate(at_least=0.5, otherwise=-2.0)}
    reward = columns_reward("b", "a", "c", gates=gates)
    assert total(reward, a=0.0, b=0.0, c=1.0) == -1.0
    assert total(reward, a=1.0, b=0.4, c=1.0) == -2.0
    assert total(reward, a=1.0, b=0.5, c=1.0) == 1.0
    assert total(reward, a=None, b=0.0, c=1.0) is None


def test_a_gate_counts_in_the_sum_if_it_has_a_weight() -> None:
    reward = columns_reward("format", "math", gates={"format": Gate()}, weights={"format": 0.5})
    assert total(reward, format=1.0, math=1.0) == 1.5


def test_a_product_needs_all_its_factors() -> None:
    reward = columns_reward("a", "b", "c", combine="product", weights={"c": 0})
    assert total(reward, a=0.5, b=0.5, c=9.0) == 0.25
    assert total(reward, a=0.5, b=0.0, c=9.0) == 0.0
    assert total(reward, a=0.5, b=None, c=9.0) is None


def test_clip_holds_the_total() -> None:
    reward = columns_reward("a", clip=(-1.0, 1.0))
    assert [total(reward, a=a) for a in (-3.0, 0.25, 3.0)] == [-1.0, 0.25, 1.0]


def test_a_reward_within_a_reward_caps_a_component() -> None:
    bonus = columns_reward("speed", clip=(0.0, 0.2))
    reward = Reward({"exact": Exact(), "bonus": bonus})
    result = reward.score(["a"], reference=["a"], speed=[5.0])
    assert result.scores == [1.2]
    assert result.components == {"exact": [1.0], "bonus": [0.2], "bonus/speed": [5.0]}


def test_verdicts_of_a_reward_within_a_reward_are_kept() -> None:
    reward = Reward({"outer": Reward({"inner": Reward({"exact": Exact()})})})
    result = reward.score(["a"], reference=["a"])
    assert list(result.verdicts) == ["outer/inner/exact"]
    assert list(result.components) == ["outer", "outer/inner", "outer/inner/exact"]


@pytest.mark.parametrize(
    ("missing", "some", "none_left", "gate"),
    [
        ("propagate", None, None, None),
        ("ignore", 0.5, None, 0.5),
        ("zero", 0.5, 0.0, -1.0),
    ],
)
def test_the_policy_says_what_a_missing_component_does(
    missing: Any, some: float | None, none_left: float | None, gate: float | None
) -> None:
    reward = columns_reward("a", "b", missing=missing)
    assert total(reward, a=None, b=0.5) == some
    assert total(reward, a=None, b=None) == none_left
    gated = columns_reward("a", "b", missing=missing, gates={"a": Gate(otherwise=-1.0)})
    assert total(gated, a=None, b=0.5) == gate


def test_a_missing_component_of_no_weight_does_nothing() -> None:
    assert total(columns_reward("a", "b", weights={"a": 0}), a=None, b=0.5) == 0.5


# Asynchronous use, pickling, closing


def test_ascore_agrees_with_score() -> None:
    inner = Reward({"exact": Exact(), "length": length}, weights={"length": -0.1})
    reward = Reward({"inner": inner, "length": length})
    batch: dict[str, Any] = {"reference": ["a", "b", "c"]}
    completions = ["a", "?", "cc"]
    assert asyncio.run(reward.ascore(completions, **batch)) == reward.score(completions, **batch)
    for completion, reference in zip(completions, batch["reference"], strict=True):
        row = asyncio.run(reward.ascore_one(completion, reference=reference))
        assert row == reward.score_one(completion, reference=reference)


def test_one_row_waits_on_the_event_loop_and_not_in_a_thread() -> None:
    @dataclass
    class Remote(Exact):
        all_asked: asyncio.Barrier = field(default_factory=lambda: asyncio.Barrier(200))

        async def averify(
            self, completion: Completion, reference: Json, /, **context: Any
        ) -> Verdict:
            # Nobody answers until all have asked: a pool of threads would be a deadlock here.
            await self.all_asked.wait()
            return self.verify(completion, reference, **context)

    async def main() -> list[float | None]:
        reward = Reward({"remote": Remote()})
        rows = await asyncio.gather(*(reward.ascore_one("a", reference="a") for _ in range(200)))
        return [row.score for row in rows]

    assert asyncio.run(main()) == [1.0] * 200


def test_a_pickled_reward_gives_the_same_result() -> None:
    reward = Reward(
        {"exact": Exact(), "a": Column("a"), "inner": Reward({"length": length})},
        weights={"a": -2},
        gates={"exact": Gate(0.5, -0.5)},
        clip=(-3, 3),
        missing="zero",
    )
    copy = pickle.loads(pickle.dumps(reward))
    batch: dict[str, Any] = {"reference": ["a", "b", "c"], "a": [1.0, None, 0.0]}
    assert copy.score(["a", "?", "c"], **batch) == reward.score(["a", "?", "c"], **batch)


def test_close_reaches_every_verifier_and_the_reward_can_go_on() -> None:
    first, second = Exact(), Exact()
    with Reward({"a": first, "inner": Reward({"b": second}), "length": length}) as reward:
        assert reward.score_one("x", reference="x").score == 3.0
    assert (first.closed, second.closed) == (1, 1)
    assert reward.score_one("x", reference="x").score == 3.0


# Mistakes of the caller


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Reward({}), "no component has a weight"),
        (lambda: columns_reward("a", gates={"a": Gate()}), "no component has a weight"),
        (lambda: columns_reward("a", weights={"a": 0}), "no component has a weight"),
        (lambda: columns_reward("a", weights={"b": 1}), "names 'b', which is no component"),
        (lambda: columns_reward("a", gates={"b": Gate()}), "names 'b', which is no component"),
        (lambda: columns_reward("a", references={"b": "x"}), "names 'b', which is no component"),
        (lambda: columns_reward("a", weights={"a": math.nan}), "weight of 'a' is finite"),
        (lambda: columns_reward("a", weights={"a": math.inf}), "weight of 'a' is finite"),
        (lambda: columns_reward("a", combine="mean"), "combine is one of sum, product"),
        (lambda: columns_reward("a", missing="drop"), "missing is one of propagate"),
        (lambda: columns_reward("a", combine="product", weights={"a": 2}), "in a product"),
        (lambda: columns_reward("a", clip=(1.0, 0.0)), "clip is"),
        (lambda: columns_reward("a", clip=(math.nan, 0.0)), "clip is"),
        (lambda: columns_reward("a", clip=1.0), r"clip is .* not 1.0"),
        (lambda: columns_reward("a", clip=(0.0, 1.0, 2.0)), "clip is"),
        (lambda: columns_reward("a", weights={"a": "x"}), "weight of 'a' is a number, not 'x'"),
        (lambda: columns_reward("a", weights={"a": None}), "weight of 'a' is a number"),
        (lambda: columns_reward("a", "b", gates={"a": 0.5}), "gate 'a' is 0.5: give a Gate"),
        (lambda: Reward([Exact()]), "components is a list: give a name"),  # type: ignore[arg-type]
        (lambda: Reward({"a": Exact}), r"is the class Exact itself: give one made"),
        (
            lambda: columns_reward("a", "b", clip=(0, 1), gates={"a": Gate(otherwise=-1)}),
            "gate 'a' gives -1, outside of clip",
        ),
        (lambda: columns_reward("a/b"), "no '/'"),
        (lambda: columns_reward(""), "not empty"),
        (lambda: Reward({"a": 3}), "component 'a' is a int"),  # type: ignore[dict-item]
        (lambda: Gate(math.nan), "a gate's numbers are finite"),
        (lambda: Gate(1.0, math.inf), "a gate's numbers are finite"),
    ],
)
def test_a_reward_that_makes_no_sense_is_refused(build: Callable[[], object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        build()


def test_a_column_of_another_length_is_named() -> None:
    with pytest.raises(ConfigError, match="'level' has 1 entries for 2 completions"):
        Reward({"length": length}).score(["a", "b"], level=[1])


@pytest.mark.parametrize("column", ["ab", 3, None, {"a": 1}, b"ab"])
def test_a_column_that_is_no_list_is_named(column: Any) -> None:
    with pytest.raises(ConfigError, match="the column 'level' is a"):
        Reward({"length": length}).score(["a", "b"], level=column)


@pytest.mark.parametrize("completions", ["ab", b"ab", {"a": 1}, None, iter("ab")])
def test_completions_that_are_no_list_are_refused(completions: Any) -> None:
    reward = Reward({"exact": Exact()})
    with pytest.raises(ConfigError, match=r"completions is a .*: give a list"):
        reward.score(completions, reference=["a", "b"])
    with pytest.raises(ConfigError, match=r"completions is a .*: give a list"):
        asyncio.run(reward.ascore(completions, reference=["a", "b"]))


def test_a_missing_reference_column_is_named_with_those_that_are_there() -> None:
    with pytest.raises(ConfigError, match=r"'exact'.*'reference'.*given: answer, level"):
        Reward({"exact": Exact()}).score(["a"], answer=["a"], level=[1])


def test_an_unreadable_reference_is_raised() -> None:
    with pytest.raises(InvalidReferenceError):
        Reward({"exact": Exact()}).score(["a"], reference=[4])


@pytest.mark.parametrize(
    ("shaper", "message"),
    [
        (returns([1.0]), "the shaper 's' returned 1 values for 2 completions"),
        (returns([1.0, math.nan]), "the shaper 's' returned nan"),
        (returns([math.inf, 1.0]), "the shaper 's' returned inf"),
        (returns([10**400, 1.0]), "which is no number"),
        (returns(["one", 1.0]), "'one', which is no number"),
        (returns([[1.0], 1.0]), "which is no number"),
        (returns(None), "the shaper 's' raised TypeError"),
        (Column("absent"), "the shaper 's' raised KeyError"),
    ],
)
def test_a_shaper_that_fails_is_named(shaper: Shaper, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Reward({"s": shaper}).score(["a", "b"])


def test_a_total_that_overflows_is_an_error() -> None:
    for a, b in ((1e308, 1e308), (1e308, -1e308)):
        with pytest.raises(ConfigError, match="no finite number"):
            total(columns_reward("a", "b", weights={"a": 1e308, "b": 1e308}), a=a, b=b)
    with pytest.raises(ConfigError, match="no finite number"):
        total(columns_reward("a", "b", combine="product"), a=1e308, b=1e308)


def test_a_verifier_that_loses_a_verdict_is_named() -> None:
    class Short(Exact):
        def verify_batch(
            self, completions: Any, references: Any, /, **columns: Any
        ) -> list[Verdict]:
            return []

    with pytest.raises(ConfigError, match="'exact' returned 0 verdicts for 1"):
        Reward({"exact": Short()}).score(["a"], reference=["a"])


def test_numbers_of_other_kinds_become_plain_floats() -> None:
    @dataclass
    class Scalar:
        value: float

        def __float__(self) -> float:
            return self.value

    result = Reward({"s": returns([True, 2, Scalar(0.5), None])}).score(["a"] * 4)
    assert result.scores == [1.0, 2.0, 0.5, None]
    assert [type(score) for score in result.scores[:3]] == [float] * 3


# Laws

numbers = st.floats(-10, 10).map(lambda value: round(value, 3))
values = st.none() | numbers
names = st.lists(st.sampled_from("abcdef"), min_size=1, max_size=5, unique=True)


@st.composite
def rewards(draw: st.DrawFn) -> Reward:
    own = draw(names)
    gates = draw(st.lists(st.sampled_from(own), unique=True, max_size=2))
    combine = draw(st.sampled_from(["sum", "product"]))
    weights = {
        name: draw(st.sampled_from([0.0, 1.0]) if combine == "product" else numbers) for name in own
    }
    assume(any(weights.values()))
    clip = draw(st.none() | st.tuples(st.floats(-5, 0), st.floats(0, 5)))
    low, high = clip or (-10.0, 10.0)
    return Reward(
        {name: Column(name) for name in own},
        weights=weights,
        gates={name: Gate(draw(numbers), draw(st.floats(low, high))) for name in gates},
        combine=combine,
        clip=clip,
        missing=draw(st.sampled_from(["propagate", "ignore", "zero"])),
    )


@st.composite
def batches(draw: st.DrawFn) -> tuple[Reward, list[str], dict[str, list[float | None]]]:
    reward = draw(rewards())
    count = draw(st.integers(0, 8))
    columns = {
        name: draw(st.lists(values, min_size=count, max_size=count)) for name in reward.components
    }
    return reward, [""] * count, columns


@given(batches(), st.randoms(use_true_random=False))
def test_permuting_the_batch_permutes_the_result(batch: Any, order: random.Random) -> None:
    reward, completions, columns = batch
    indices = list(range(len(completions)))
    order.shuffle(indices)
    shuffled = {name: [column[i] for i in indices] for name, column in columns.items()}
    scores = reward.score(completions, **columns).scores
    assert reward.score(completions, **shuffled).scores == [scores[i] for i in indices]


@given(batches())
def test_every_row_is_scored_as_if_alone(batch: Any) -> None:
    reward, completions, columns = batch
    result = reward.score(completions, **columns)
    assert len(result) == len(result.scores) == len(completions)
    for i in range(len(completions)):
        alone = reward.score_one("", **{name: column[i] for name, column in columns.items()})
        assert alone == result.row(i)


@given(batches())
def test_totals_are_finite_and_inside_the_clip(batch: Any) -> None:
    reward, completions, columns = batch
    for score in reward.score(completions, **columns).scores:
        if score is not None:
            assert math.isfinite(score)
            assert reward.clip is None or reward.clip[0] <= score <= reward.clip[1]


@given(batches())
def test_none_propagates_exactly_where_nothing_decided_before_it(batch: Any) -> None:
    reward, completions, columns = batch
    reward = Reward(
        reward.components,
        weights=reward.weights,
        gates=reward.gates,
        combine=reward.combine,
        clip=reward.clip,
    )
    for i, score in enumerate(reward.score(completions, **columns).scores):
        asked = [columns[name][i] for name in reward.gates]
        limits = [gate.at_least for gate in reward.gates.values()]
        open_gates = [
            v if v is None else v >= at_least for v, at_least in zip(asked, limits, strict=True)
        ]
        first = next((state for state in open_gates if state is not True), True)
        weighed = [columns[name][i] for name, weight in reward.weights.items() if weight]
        assert (score is None) == (first is None or (first is True and None in weighed))


@given(st.dictionaries(st.sampled_from("abcdef"), st.tuples(numbers, numbers), min_size=1))
def test_a_sum_is_linear_in_weights_and_free_of_order(terms: dict[str, Any]) -> None:
    weights = {name: weight for name, (weight, _) in terms.items()}
    assume(any(weights.values()))
    columns = {name: value for name, (_, value) in terms.items()}
    score = total(columns_reward(*terms, weights=weights), **columns)
    assert score == pytest.approx(sum(weights[n] * columns[n] for n in terms), abs=1e-9)
    backwards = columns_reward(*reversed(terms), weights=weights)
    assert total(backwards, **columns) == score
    doubled = columns_reward(*terms, weights={name: 2 * w for name, w in weights.items()})
    assert total(doubled, **columns) == 2 * score  # type: ignore[operator]


@given(st.dictionaries(st.sampled_from("abcdef"), numbers, min_size=1))
def test_a_product_is_free_of_order(factors: dict[str, float]) -> None:
    score = total(columns_reward(*factors, combine="product"), **factors)
    assert score == pytest.approx(math.prod(factors.values()), abs=1e-9)
    assert total(columns_reward(*reversed(factors), combine="product"), **factors) == score


@given(batches())
def test_scoring_neither_changes_its_input_nor_remembers_it(batch: Any) -> None:
    reward, completions, columns = batch
    before = pickle.dumps((completions, columns))
    first = reward.score(completions, **columns)
    assert pickle.dumps((completions, columns)) == before
    assert reward.score(completions, **columns) == first
    assert pickle.loads(pickle.dumps(reward)).score(completions, **columns) == first


def test_totals_are_made_again_as_if_a_component_were_not_there():
    def of(*values):
        return lambda completions, /, **columns: list(values)

    reward = Reward(
        {"gate": of(1.0, 0.0), "a": of(0.5, 0.5), "b": of(1.0, None)},
        weights={"b": 2.0},
        gates={"gate": Gate(otherwise=-1.0)},
    )
    result = reward.score(["x", "y"])
    assert result.scores == [2.5, -1.0]
    assert reward.totals(result.components) == result.scores
    assert reward.totals(result.components, without=["gate"]) == [2.5, None]
    assert reward.totals(result.components, without=["b"]) == [0.5, -1.0]
    assert reward.totals(result.components, without=["gate", "a", "b"]) == [None, None]
    with pytest.raises(ConfigError, match="'c' is no component"):
        reward.totals(result.components, without=["c"])
    with pytest.raises(ConfigError, match="'a' is no component"):
        reward.totals({"gate": [1.0], "b": [1.0]})
