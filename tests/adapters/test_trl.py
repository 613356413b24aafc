"""Against the real TRL of the pinned version, on a CPU, with a tiny model made here."""

import asyncio
import logging
import math

import pytest

import rewardkit_trl
from rewardkit.advantages import AdvantageStage, process_advantages, span_tokens
from rewardkit.errors import ConfigError, InvalidReferenceError
from rewardkit.reward import Gate, Reward
from rewardkit.verdict import Reason, StepVerdict, Verdict
from rewardkit.verifier import Verifier
from rewardkit_trl import reward_funcs
from tests._needs import needs
from tests.adapters import tiny

pytestmark = [
    pytest.mark.frameworks,
    pytest.mark.filterwarnings(
        "ignore::FutureWarning", "ignore::UserWarning", "ignore::DeprecationWarning"
    ),
]
torch = needs("torch")
trl = needs("trl")
GRPOTrainer = rewardkit_trl.GRPOTrainer
LOSSES = ["grpo", "bnpo", "dr_grpo", "dapo", "cispo", "sapo", "luspo", "vespo"]


def letters(completions, /, **columns):
    return [sum(c.isalpha() for c in text) / 6 for text in completions]


def early(completions, /, **columns):
    return [min((ord(c) for c in text), default=127) / 127 for text in completions]


LETTERS = Reward({"letters": letters})


class Fragile(Verifier):
    """Grades letters; times out on texts with a digit and raises on references of level 1."""

    name = "fragile"

    def verify(self, completion, reference, /, **context):
        if context["level"] == 1 and context.get("strict"):
            raise InvalidReferenceError("level 1 cannot be read")
        if any(c.isdigit() for c in completion):
            return Verdict(None, Reason.TIMEOUT)
        return Verdict(letters([completion])[0], Reason.PARTIAL)


def test_the_installed_version_is_the_one_that_the_adapter_names():
    from packaging.specifiers import SpecifierSet

    assert trl.__version__ in SpecifierSet(rewardkit_trl.TESTED.removeprefix("trl"))


@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_reward_sees_the_batch_as_columns(tmp_path, asynchronous):
    seen = {}

    def look(completions, /, **columns):
        seen.update(columns, completions=list(completions))
        return letters(completions)

    functions = reward_funcs(Reward({"look": look}), asynchronous=asynchronous)
    assert asyncio.iscoroutinefunction(type(functions[0]).__call__) == asynchronous
    trainer = tiny.trained(tmp_path, functions)
    assert set(seen) == {"completions", "completion_ids", "level", "prompt", "reference"}
    assert len(seen["completions"]) == 8
    assert seen["prompt"][0] == seen["prompt"][3] != seen["prompt"][4]
    assert seen["level"][0] == seen["level"][3] != seen["level"][4]
    words = trainer.processing_class
    texts = [words.decode(ids, skip_special_tokens=True) for ids in seen["completion_ids"]]
    assert texts == seen["completions"]
    assert trainer.state.log_history[0]["reward/look/mean"] == pytest.approx(
        math.fsum(letters(texts)) / 8
    )


def test_chats_are_completions_too(tmp_path):
    seen = []

    def look(completions, /, **columns):
        seen.extend(completions)
        return [float(len(chat[0]["content"])) for chat in completions]

    tiny.trained(tmp_path, reward_funcs(Reward({"look": look})), dataset=tiny.rows(4, True))
    assert [len(chat) for chat in seen] == [1] * 8
    assert {chat[0]["role"] for chat in seen} == {"assistant"}


def captured(tmp_path, functions, **options):
    """Trains one step, and returns the trainer and the batch that its loss took."""
    more = options.pop("more", {})

    class Capturing(GRPOTrainer):
        def _generate_and_score_completions(self, inputs):
            self.taken = super()._generate_and_score_completions(inputs)
            return dict(self.taken)

    trainer = tiny.trained(tmp_path, functions, kind=Capturing, more=more, **options)
    return trainer, trainer.taken


def found_by(tmp_path, stage, functions=None, **options):
    functions = reward_funcs(LETTERS) if functions is None else functions
    return captured(tmp_path, functions, more={"advantages": stage}, **options)[1]["advantages"]


@pytest.mark.parametrize(
    ("stage", "options"),
    [
        ("group_z", {"scale_rewards": "group"}),
        ("batch_z", {"scale_rewards": "batch"}),
        ("mean", {"scale_rewards": "none"}),
        ("gdpo", {"multi_objective_aggregation": "normalize_then_sum"}),
    ],
)
@pytest.mark.parametrize("several", [False, True])
def test_our_estimators_are_trls_where_trl_has_them(tmp_path, stage, options, several):
    rewards = [LETTERS, Reward({"early": early})] if several else [LETTERS]
    weights = {"reward_weights": [1.0, 0.3]} if several else {}
    functions = reward_funcs(*rewards)
    stock = found_by(tmp_path, None, functions, **options, **weights)
    ours = found_by(tmp_path, AdvantageStage(stage), functions, **options, **weights)
    assert stock.abs().max() > 0.1
    torch.testing.assert_close(ours, stock, atol=2e-6, rtol=2e-6)


def test_a_row_without_a_score_is_in_no_baseline_and_teaches_nothing(tmp_path):
    trainer, taken = captured(tmp_path, reward_funcs(Reward({"fragile": Fragile()})))
    missing = [reward is None for reward in trainer._rewardkit_batch.rewards]
    assert any(missing)
    assert not all(missing)
    assert not taken["advantages"][torch.tensor(missing)].any()
    ours = found_by(
        tmp_path, AdvantageStage("group_z"), reward_funcs(Reward({"fragile": Fragile()}))
    )
    torch.testing.assert_close(ours, taken["advantages"], atol=2e-6, rtol=2e-6)
    logged = trainer.state.log_history[0]
    assert logged["reward/status/timeout"] == pytest.approx(sum(missing) / 8)
    assert logged["reward/reason/fragile/timeout"] == pytest.approx(sum(missing) / 8)


def test_a_verifier_that_raises_in_the_middle_does_not_end_the_run(tmp_path):
    class Later(Fragile):
        calls = 0

        def verify_batch(self, completions, references, /, **columns):
            type(self).calls += 1
            if type(self).calls > 1:
                columns["strict"] = [True] * len(completions)
            return super().verify_batch(completions, references, **columns)

    trainer = tiny.trained(tmp_path, reward_funcs(Later()), max_steps=4)
    errors = [e.get("reward/status/error", 0.0) for e in trainer.state.log_history[:-1]]
    assert len(errors) == 4
    assert errors[0] == 0.0
    assert max(errors) == 0.5


def test_the_policy_to_raise_ends_the_run(tmp_path):
    with pytest.raises(Exception, match=r"row . has no score: timeout"):
        tiny.trained(tmp_path, reward_funcs(Fragile(), on_missing="raise"))


def test_a_missing_reference_column_is_named_in_the_first_step(tmp_path):
    with pytest.raises(ConfigError, match="'reference', which is not there"):
        tiny.trained(
            tmp_path, reward_funcs(Fragile()), dataset=tiny.rows().remove_columns("reference")
        )


def test_another_column_may_hold_the_references(tmp_path):
    dataset = tiny.rows().rename_column("reference", "answer")
    trainer = tiny.trained(tmp_path, reward_funcs(Fragile(), reference="answer"), dataset=dataset)
    assert trainer.state.global_step == 1


def test_zero_may_stand_for_a_missing_score(tmp_path):
    trainer, _ = captured(tmp_path, reward_funcs(Fragile(), on_missing="zero"))
    assert None not in trainer._rewardkit_batch.rewards
    assert trainer.state.log_history[0]["reward/status/timeout"] > 0
    assert trainer.rewardkit_audit.alarms == []


def stock_formula(rewards, groups, /, **context):
    """TRL's default, as its source has it, with its own function for the deviation."""
    from trl.trainer.utils import nanstd

    values = torch.tensor([math.nan if r is None else r for r in rewards])
    size = len(groups) // len(set(groups))
    mean = torch.nanmean(values.view(-1, size), dim=1).repeat_interleave(size)
    std = nanstd(values.view(-1, size), dim=1).repeat_interleave(size)
    return ((values - mean) / (std + 1e-4)).tolist()


def stock_formula_by_token(rewards, groups, /, *, lengths, **context):
    return [[a] * n for a, n in zip(stock_formula(rewards, groups), lengths)]


@pytest.mark.parametrize("loss", LOSSES)
def test_under_identity_the_hook_is_stock_to_the_last_bit(tmp_path, loss):
    options = {"loss_type": loss, "max_steps": 2, "num_iterations": 2}
    stock = tiny.weights(tiny.trained(tmp_path, reward_funcs(LETTERS), **options))
    start = torch.cat(
        [p.detach().flatten() for p in tiny.model(len(tiny.tokenizer())).parameters()]
    )
    assert not torch.equal(stock, start)
    for stage in (None, AdvantageStage(stock_formula), AdvantageStage(stock_formula_by_token)):
        ours = tiny.trained(
            tmp_path,
            reward_funcs(LETTERS),
            kind=GRPOTrainer,
            more={"advantages": stage},
            **options,
        )
        assert torch.equal(tiny.weights(ours), stock), stage


def test_token_advantages_come_to_the_same_with_gradient_accumulation(tmp_path):
    def rising(rewards, groups, /, *, lengths, **context):
        return [[(t + 1) * r for t in range(n)] for r, n in zip(rewards, lengths)]

    stage = AdvantageStage(rising, control="none")
    once, twice = (
        tiny.weights(
            tiny.trained(
                tmp_path,
                reward_funcs(LETTERS),
                kind=GRPOTrainer,
                more={"advantages": stage},
                per_device_train_batch_size=size,
                gradient_accumulation_steps=8 // size,
            )
        )
        for size in (8, 4)
    )
    torch.testing.assert_close(once, twice, atol=1e-6, rtol=1e-5)


class Vowels(Verifier):
    """A verdict with a step for each character."""

    name = "vowels"

    def verify(self, completion, reference, /, **context):
        steps = tuple(
            StepVerdict(i, i + 1, float(c.lower() in "aeiou"), Reason.PARTIAL)
            for i, c in enumerate(completion)
        )
        return Verdict(float("a" in completion), Reason.PARTIAL, steps=steps)


def by_step(rewards, groups, /, *, verdicts, lengths, token_starts, **context):
    steps = [verdict.steps for verdict in verdicts["vowels"]]
    ends = [span_tokens(own, token_starts(row)) for row, own in enumerate(steps)]
    scores = [[step.score for step in own] for own in steps]
    return process_advantages(scores, ends, lengths, groups)


def test_step_rewards_reach_the_loss(tmp_path):
    trainer, taken = captured(
        tmp_path, reward_funcs(Vowels()), more={"advantages": AdvantageStage(by_step)}
    )
    advantages = taken["advantages"]
    assert advantages.shape == taken["completion_ids"].shape
    assert (advantages.max(dim=1).values > advantages.min(dim=1).values).any()
    words = trainer.processing_class
    for ids, row in zip(taken["completion_ids"], advantages):
        text = words.decode(ids, skip_special_tokens=True)
        drops = [i for i in range(len(text) - 1) if row[i] - row[i + 1] > 0]
        assert drops == [i for i in range(len(text) - 1) if text[i].lower() in "aeiou"]


def test_the_audit_is_logged_and_an_idle_component_is_an_alarm(tmp_path, caplog):
    def gate(completions, /, **columns):
        return [0.5] * len(completions)

    shut = Reward({"gate": gate, "letters": letters}, gates={"gate": Gate(at_least=0.0)})
    trainer, _ = captured(tmp_path, reward_funcs(shut))
    logged = trainer.state.log_history[0]
    assert logged["advantage_audit/letters/maximum"] > 0.1
    assert logged["advantage_audit/gate/maximum"] == 0.0
    assert logged["advantage_audit/alarms"] == 0.0  # it never had anything to say

    def choosy(completions, /, **columns):
        return [0.5 + 0.1 * value for value in letters(completions)]

    idle = Reward({"gate": choosy, "letters": letters}, gates={"gate": Gate(at_least=0.0)})
    with caplog.at_level(logging.WARNING, logger="rewardkit"):
        trainer, _ = captured(tmp_path, reward_funcs(idle))
    assert trainer.state.log_history[0]["advantage_audit/alarms"] == 1.0
    assert "gate never reaches the gradient" in caplog.text


def test_a_correction_that_the_z_score_cancels_is_an_alarm(tmp_path):
    def backward_z(rewards, groups, /, **context):
        corrected = [(r - 0.1) / 0.7 for r in rewards]
        return AdvantageStage("group_z")(corrected, groups).values

    stage = AdvantageStage(backward_z, control="group_z")
    trainer, _ = captured(tmp_path, reward_funcs(LETTERS), more={"advantages": stage})
    assert trainer.rewardkit_audit.alarms == [
        "correction never reaches the gradient: the advantages are the same without it"
    ]
    logged = trainer.state.log_history[0]
    assert logged["advantage_audit/correction/cosine"] == pytest.approx(1.0, abs=1e-6)


def test_the_context_of_coefficients_is_the_whole_batch(tmp_path):
    seen = {}

    def look(rewards, groups, /, **context):
        if not context["audit"]:
            seen.update(context, groups=groups)
        return [0.0] * len(rewards)

    functions = reward_funcs(Fragile(), LETTERS, names=["fragile", "letters"])
    captured(tmp_path, functions, more={"advantages": AdvantageStage(look)}, reward_weights=[1, 2])
    assert seen["groups"] == [0] * 4 + [1] * 4
    assert set(seen["components"]) == {"fragile", "letters"}
    assert seen["weights"] == {"fragile": 1.0, "letters": 2.0}
    assert [v.reason for v in seen["verdicts"]["fragile/fragile"]]
    assert len(seen["columns"]["level"]) == len(seen["lengths"]) == 8


@pytest.mark.parametrize("arguments", [((), {}), ((LETTERS,), {"names": ["a", "b"]})])
def test_a_name_a_reward_is_asked_for(arguments):
    with pytest.raises(ConfigError, match="give one name a reward"):
        reward_funcs(*arguments[0], **arguments[1])
