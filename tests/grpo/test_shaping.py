"""Shapers in the included trainer: tokens, groups and verdicts reach them."""

from tests._needs import needs

needs("torch")
needs("transformers")
needs("sympy")

from rewardkit import MathVerifier, Reward
from rewardkit.shaping import (
    CosineLength,
    DifficultyLength,
    MajorityLabel,
    OverlongPenalty,
    RepetitionPenalty,
)
from tests.grpo.runs import make_trainer


def test_one_reward_of_verifier_and_shapers_trains(tmp_path):
    reward = Reward(
        {
            "math": MathVerifier(),
            "brevity": CosineLength(max_length=4, correct="math"),
            "adaptive": DifficultyLength(correct="math"),
            "overlong": OverlongPenalty(max_length=4, buffer=2),
            "repetition": RepetitionPenalty(ngram=1),
            "majority": MajorityLabel(key=str.strip),
        }
    )
    trainer = make_trainer(tmp_path, reward=reward, steps=1)
    rollouts = trainer.sample()
    found = trainer.score(rollouts)
    assert found.errors == []
    components = found.result.components
    columns = {"completion_ids": rollouts.completions, "correct": components["math"]}
    for shaper, name in ((CosineLength(max_length=4), "brevity"),
                         (OverlongPenalty(max_length=4, buffer=2), "overlong"),
                         (RepetitionPenalty(ngram=1), "repetition")):  # fmt: skip
        assert components[name] == shaper(rollouts.texts, **columns)
    groups = {"prompt": rollouts.groups}
    assert components["majority"] == MajorityLabel(key=str.strip)(rollouts.texts, **groups)
    adaptive = DifficultyLength()(rollouts.texts, **columns, **groups)
    assert components["adaptive"] == adaptive
    assert len(set(components["repetition"])) > 1
    trainer.run()
    assert trainer.history[0]["component/overlong"] <= 0
