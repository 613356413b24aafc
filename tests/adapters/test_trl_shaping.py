"""Shapers in the real TRL: the same reward object, its tokens and its groups."""

import pytest

from rewardkit import Reward
from rewardkit.shaping import (
    CosineLength,
    GroupLength,
    MajorityLabel,
    OverlongPenalty,
    RepetitionPenalty,
)
from rewardkit.verdict import Reason, Verdict
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
needs("torch")
needs("trl")


class Early(Verifier):
    """Right where the text begins with a letter of the first half of the alphabet."""

    name = "early"

    def verify(self, completion, reference, /, **context):
        good = completion[:1].lower() < "n"
        return Verdict(float(good), Reason.MATCH if good else Reason.MISMATCH)


def shaped():
    return Reward(
        {
            "early": Early(),
            "brevity": CosineLength(max_length=6, correct="early"),
            "siblings": GroupLength(correct="early", unit="characters"),
            "overlong": OverlongPenalty(max_length=6, buffer=3),
            "repetition": RepetitionPenalty(ngram=1),
            "majority": MajorityLabel(key=lambda text: text[:1] or None),
        },
        weights={"early": 0.0},
    )


@pytest.mark.parametrize("asynchronous", [False, True])
def test_one_reward_of_verifier_and_shapers_trains(tmp_path, asynchronous):
    seen = {}

    def look(completions, /, **columns):
        seen.update(columns, completions=list(completions))
        return [0.0] * len(completions)

    reward = Reward({"all": shaped(), "look": look})
    [function] = reward_funcs(reward, asynchronous=asynchronous)
    trainer = tiny.trained(tmp_path, [function])
    assert trainer.state.global_step == 1
    components = function.last.result.components
    texts, early = seen["completions"], components["all/early"]
    columns = {"completion_ids": seen["completion_ids"], "correct": early}
    prompts = {"prompt": ["p"] * 4 + ["q"] * 4}  # TRL lays a prompt's completions side by side
    assert components["all/brevity"] == CosineLength(max_length=6)(texts, **columns)
    assert components["all/overlong"] == OverlongPenalty(max_length=6, buffer=3)(texts, **columns)
    assert components["all/siblings"] == GroupLength(unit="characters")(
        texts, correct=early, **prompts
    )
    assert components["all/repetition"] == RepetitionPenalty(ngram=1)(texts, **columns)
    majority = MajorityLabel(key=lambda text: text[:1] or None)(texts, **prompts)
    assert components["all/majority"] == majority
    logged = trainer.state.log_history[0]
    assert logged["reward/all/overlong/mean"] == pytest.approx(sum(components["all/overlong"]) / 8)
