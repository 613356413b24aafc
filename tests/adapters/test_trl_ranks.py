"""The hook in the real TRL on two processes: advantages are of the rewards of both."""

import pytest

from rewardkit.advantages import AdvantageStage
from tests._needs import needs
from tests._ranks import run_two_ranks

pytestmark = pytest.mark.frameworks
torch = needs("torch")
needs("trl")

NAMES = ["batch", "group", "tokens"]


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """By stage, what each of the two processes saw."""
    folder = tmp_path_factory.mktemp("two")
    run_two_ranks("tests.adapters.two_ranks", folder)
    return {
        name: [torch.load(folder / f"{name}-{rank}.pt", weights_only=True) for rank in range(2)]
        for name in NAMES
    }


@pytest.mark.parametrize("name", NAMES)
def test_both_processes_see_one_batch_with_its_groups_whole(runs, name):
    first, second = runs[name]
    for key in ("rewards", "groups", "lengths", "prompts", "texts"):
        assert first[key] == second[key]
    assert first["groups"] == [0] * 4 + [1] * 4
    for group in (0, 1):
        prompts = [p for p, g in zip(first["prompts"], first["groups"]) if g == group]
        assert len(set(prompts)) == 1
    assert len(set(first["prompts"])) == 2
    assert first["texts"] == [*first["own"], *second["own"]]


@pytest.mark.parametrize("name", NAMES)
def test_each_process_learns_with_its_part_of_the_advantages_of_one(runs, name):
    from tests.adapters import two_ranks

    first, second = runs[name]
    assert len(set(first["rewards"])) > 2
    whole = two_ranks.STAGES[name](first["rewards"], first["groups"], lengths=first["lengths"])
    for rank, own in enumerate((first, second)):
        rows = range(4 * rank, 4 * rank + 4)
        if name != "tokens":
            wanted = torch.tensor([whole.values[i] for i in rows])
            assert torch.equal(torch.tensor(own["advantages"]), wanted)
            continue
        for place, i in enumerate(rows):
            tokens = torch.tensor(whole.tokens[i])
            given = torch.tensor(own["advantages"][place])
            assert torch.equal(given[: len(tokens)], tokens)
            assert not given[len(tokens) :].any()


def test_an_estimator_over_the_batch_is_not_that_of_each_half(runs):
    first, second = runs["batch"]
    halves = [
        AdvantageStage("batch_z")(first["rewards"][part], first["groups"][part]).values
        for part in (slice(0, 4), slice(4, 8))
    ]
    assert first["advantages"] + second["advantages"] != pytest.approx(halves[0] + halves[1])


@pytest.mark.parametrize("name", NAMES)
def test_both_end_with_the_same_weights(runs, name):
    first, second = runs[name]
    assert torch.equal(first["weights"], second["weights"])
