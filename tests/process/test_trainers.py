"""Step scores from a verdict to the loss: in the included trainer, and in TRL."""

import pytest

from rewardkit import Reward
from rewardkit.advantages import AdvantageStage, estimate_advantages
from rewardkit.process import StepCredit
from rewardkit.verdict import Reason, StepVerdict, Verdict
from rewardkit.verifier import Verifier
from tests._needs import needs

torch = needs("torch")
needs("transformers")


class Pairs(Verifier):
    """A step for each two characters: right if the first is even in its code; none is undecided."""

    name = "pairs"

    def verify(self, completion, reference, /, **context):
        steps = tuple(
            StepVerdict(
                i, min(i + 2, len(completion)), float(ord(completion[i]) % 2), Reason.PARTIAL
            )
            for i in range(0, len(completion), 2)
        )
        return Verdict(len(set(completion)) / 8, Reason.PARTIAL, steps=steps)


def by_hand(rows, groups, alpha):
    """Token advantages of rows of decoded tokens, each of one character or, if special, of none.

    A special token goes with the step before it; before the first step and after the last
    character it is outside of every step.
    """
    texts = ["".join(row) for row in rows]
    plain = estimate_advantages([len(set(t)) / 8 for t in texts], groups).values
    terms = []
    for row, text in zip(rows, texts):
        seen, own = 0, []
        for piece in row:
            inside = (seen > 0 or piece) and (seen < len(text))
            at = seen if piece else seen - 1
            own.append(ord(text[at - at % 2]) % 2 - 1.0 if inside else None)
            seen += len(piece)
        terms.append(own)
    found = []
    for value, own, group in zip(plain, terms, groups):
        pool = [v for row, g in zip(terms, groups) if g == group for v in row if v is not None]
        mean = sum(pool) / len(pool) if pool else 0.0
        found.append([value if v is None else value + alpha * (v - mean) for v in own])
    return found


def test_step_scores_reach_the_loss_of_the_included_trainer(tmp_path):
    from tests.grpo.runs import make_trainer, same, weights

    reward = Reward({"pairs": Pairs()})
    stage = AdvantageStage(StepCredit("pairs", alpha=0.5))
    trainer = make_trainer(tmp_path / "steps", reward=reward, stage=stage, steps=1)
    rollouts = trainer.sample()
    found = trainer.advantages(rollouts, trainer.score(rollouts))
    decode = trainer.actor.tokenizer.decode
    pieces = [[decode([token]) for token in row] for row in rollouts.completions]
    wanted = by_hand(pieces, rollouts.groups, 0.5)
    assert [len(row) for row in found.tokens] == rollouts.lengths
    for row, own in zip(found.tokens, wanted):
        assert row == pytest.approx(own)
    assert any(len(set(row)) > 1 for row in found.tokens)
    trainer.run()
    plain = make_trainer(tmp_path / "plain", reward=reward, steps=1)
    plain.run()
    assert not same(weights(trainer), weights(plain))


@pytest.mark.frameworks
@pytest.mark.filterwarnings(
    "ignore::FutureWarning", "ignore::UserWarning", "ignore::DeprecationWarning"
)
def test_step_scores_reach_the_loss_of_trl(tmp_path):
    needs("trl")
    import rewardkit_trl
    from tests.adapters import tiny

    class Capturing(rewardkit_trl.GRPOTrainer):
        def _generate_and_score_completions(self, inputs):
            self.taken = super()._generate_and_score_completions(inputs)
            return dict(self.taken)

    stage = AdvantageStage(StepCredit("pairs", alpha=0.5))
    functions = rewardkit_trl.reward_funcs(Pairs())
    trainer = tiny.trained(tmp_path, functions, kind=Capturing, more={"advantages": stage})
    taken, words = trainer.taken, trainer.processing_class
    lengths = taken["completion_mask"].sum(1).tolist()
    pieces = [
        [words.decode([token], skip_special_tokens=True) for token in row[:n].tolist()]
        for row, n in zip(taken["completion_ids"], lengths)
    ]
    groups = [row // trainer.num_generations for row in range(len(pieces))]
    for row, own, n in zip(taken["advantages"], by_hand(pieces, groups, 0.5), lengths):
        assert row[:n].tolist() == pytest.approx(own, abs=1e-5)
        assert not row[n:].any()
