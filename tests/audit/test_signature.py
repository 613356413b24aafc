"""How a reward wants to be called is read from its signature."""

import pytest

from rewardkit.audit._signature import plan_call


def plan(function, column=None):
    found = plan_call(function, reference_column=column)
    return found.completion, found.batched, found.reference, found.prompt


def test_a_function_of_trl_takes_lists():
    def reward(completions, answer, **kwargs): ...

    assert plan(reward) == ("completions", True, "answer", None)


def test_prompts_are_no_references():
    def reward(prompts, completions, target, **kwargs): ...

    assert plan(reward) == ("completions", True, "target", "prompts")


@pytest.mark.parametrize(
    "name", ["reference", "answer", "solution", "ground_truth", "target", "label", "gold"]
)
def test_a_plain_function_takes_one_completion(name):
    made = {}
    exec(f"def reward(completion, {name}): ...", made)
    assert plan(made["reward"]) == ("completion", False, name, None)


def test_a_function_of_verl_takes_its_own_names():
    def compute_score(data_source, solution_str, ground_truth, extra_info=None): ...

    found = plan_call(compute_score, reference_column=None)
    assert (found.completion, found.reference) == ("solution_str", "ground_truth")
    assert "data_source" in found.others


def test_a_column_that_is_read_out_of_kwargs_is_found():
    def reward(completions, **kwargs):
        return kwargs["answer"], kwargs.get("difficulty")

    assert plan(reward) == ("completions", True, "answer", None)


def test_a_format_reward_has_no_reference():
    def reward(completions, **kwargs): ...

    assert plan(reward) == ("completions", True, None, None)


def test_the_only_other_argument_is_the_reference_whatever_its_name():
    def reward(response, correct_value): ...

    assert plan(reward) == ("response", False, "correct_value", None)


def test_a_column_that_is_named_is_taken():
    def reward(completions, answer, tier, **kwargs): ...

    assert plan(reward, "tier") == ("completions", True, "tier", None)


def test_a_function_without_arguments_is_refused():
    def reward(): ...

    with pytest.raises(ValueError, match="completion"):
        plan(reward)
