"""Episodes with tools in the real TRL: Python, Prolog, SQL, and a reward for each hand-in."""

from pathlib import Path

import pytest

from rewardkit import MathVerifier, Reward, SqlVerifier
from rewardkit.advantages import AdvantageStage, process_advantages
from rewardkit.errors import ConfigError
from rewardkit_trl_environment import environment_factory
from tests._needs import needs, needs_program
from tests.adapters import tiny

pytestmark = [
    pytest.mark.frameworks,
    pytest.mark.filterwarnings(
        "ignore::FutureWarning", "ignore::UserWarning", "ignore::DeprecationWarning"
    ),
]
MARKS = [
    "<|im_start|>",
    "<|im_end|>",
    "<think>",
    "</think>",
    "<tool_call>",
    "</tool_call>",
    "<tool_response>",
    "</tool_response>",
]
BARE = MathVerifier(mode="lenient")


@pytest.fixture(scope="module")
def make():
    return environment_factory(Reward({"math": BARE}), max_turns=2)


def test_a_program_runs_in_the_sandbox_and_cannot_reach_out(make):
    environment = make()
    environment.reset(prompt="?", reference="4")
    assert environment.run_python(code="print(2 + 2)") == "4\n"
    assert "ZeroDivisionError" in environment.run_python(code="1 / 0")
    assert "cut off" in environment.run_python(code="print('x' * 10_000)")
    dial = "import socket; socket.create_connection(('1.1.1.1', 53), 1)"
    assert "Error" in environment.run_python(code=dial)
    assert environment.run_python(code="\ud800")


def test_every_hand_in_has_a_reward_and_the_last_is_the_episodes(make):
    environment = make()
    environment.reset(prompt="?", reference="4")
    assert "Try again" in environment.submit(answer="5")
    assert environment.submit(answer="4") == "That is right."
    assert environment.submit(answer="9") == "This task is over."
    assert environment.turn_rewards == [0.0, 1.0]
    assert environment.get_reward() == 1.0
    environment.reset(prompt="?", reference="7")
    assert environment.turn_rewards == []
    assert environment.get_reward() == 0.0
    environment.reset(prompt="?", reference="7")
    environment.submit(answer="1")
    assert environment.submit(answer=None) == "That is not right, and there are no tries left."


def test_the_limits_are_checked():
    with pytest.raises(ConfigError, match="at least 1"):
        environment_factory(Reward({"math": BARE}), max_turns=0)
    with pytest.raises(ConfigError, match="python, prolog, sql or none"):
        environment_factory(Reward({"math": BARE}), tool="bash")


def tools_of(environment):
    """What TRL offers the model: all public methods but the two that are its own."""
    names = [name for name in dir(environment) if not name.startswith("_")]
    methods = {name for name in names if callable(getattr(environment, name))}
    return methods - {"reset", "get_reward"}


@pytest.fixture(scope="module")
def prolog():
    needs_program("swipl", get="apt-get install swi-prolog-nox")
    return environment_factory(Reward({"math": BARE}), tool="prolog", max_turns=2, max_chars=60)


def test_prolog_keeps_the_clauses_of_an_episode_and_forgets_them_after_it(prolog):
    environment = prolog()
    assert tools_of(environment) == {"prolog", "submit"}
    environment.reset(prompt="?", reference="49")
    assert environment.prolog(program="left(L) :- L is 6*24-95.") == "ok"
    assert environment.prolog(query="left(X)") == "X = 49"
    assert "not" in environment.prolog(query="shell('ls')")
    assert "cut off" in environment.prolog(query="numlist(1, 1000, X)")
    assert environment.prolog(query="left(") != ""
    assert environment.prolog(reset=True, query="left(X)") != "X = 49"
    assert environment.submit(answer="49") == "That is right."
    environment.reset(prompt="?", reference="1")
    assert "left" in environment.prolog(query="left(X)")
    assert environment.turn_rewards == []


RIVERS = {
    "schema": "CREATE TABLE river(name TEXT, km INTEGER)",
    "rows": "INSERT INTO river VALUES ('Daugava', 1020), ('Gauja', 452), ('Abava', 134)",
    "sql": "SELECT name FROM river WHERE km > 400 ORDER BY km DESC",
}


@pytest.fixture(scope="module")
def sql():
    needs("sqlglot")
    with SqlVerifier(workers=1) as verifier:
        yield environment_factory(Reward({"sql": verifier}), tool="sql", max_turns=2)


def test_a_database_is_looked_at_and_not_written_to(sql):
    environment = sql()
    assert tools_of(environment) == {"query", "submit"}
    environment.reset(prompt="?", reference=RIVERS)
    assert "river(name text, km int)" in environment.query()
    assert environment.query(sql="SELECT MAX(km) AS m FROM river") == "m\n1020"
    assert environment.query(sql="DROP TABLE river").startswith("unsafe")
    assert environment.query(sql="SELECT COUNT(*) AS n FROM river") == "n\n3"
    assert "Try again" in environment.submit(answer="SELECT name FROM river")
    assert environment.submit(answer=RIVERS["sql"]) == "That is right."
    assert environment.turn_rewards[1] == 1.0
    assert environment.turn_rewards[0] < 1.0


def test_an_environment_may_have_no_tool():
    environment = environment_factory(Reward({"math": BARE}), tool="none")()
    assert tools_of(environment) == {"submit"}
    environment.reset(prompt="?", reference="4")
    assert environment.submit(answer="4") == "That is right."


def call(name, **arguments):
    import json

    inner = json.dumps({"name": name, "arguments": arguments})
    return f"<tool_call>\n{inner}\n</tool_call><|im_end|>"


def scripted(scripts):
    """A trainer class whose model writes the turns of a script, row by row."""
    import rewardkit_trl

    class Scripted(rewardkit_trl.GRPOTrainer):
        def _generate_single_turn(self, prompt_ids, *rest, **options):
            if len(prompt_ids) == len(scripts):
                self.left = [list(script) for script in scripts]
            waiting = [left for left in self.left if left]
            assert len(waiting) == len(prompt_ids)
            turns = [left.pop(0) for left in waiting]
            return [self.processing_class(turn)["input_ids"] for turn in turns], None

        def _generate_and_score_completions(self, inputs):
            self.taken = super()._generate_and_score_completions(inputs)
            return dict(self.taken)

    return Scripted


def by_turn(rewards, groups, /, *, columns, lengths, **context):
    ends = [own[: len(turn)] for own, turn in zip(columns["turn_ends"], columns["turn_rewards"])]
    return process_advantages(columns["turn_rewards"], ends, lengths, groups)


def test_trl_runs_the_tools_and_the_rewards_of_the_turns_reach_the_loss(tmp_path, make):
    trl = needs("trl")
    template = (Path(trl.__file__).parent / "chat_templates" / "qwen3.jinja").read_text("utf-8")
    words = tiny.tokenizer(MARKS, template, eos="<|im_end|>")
    end = "It is done.<|im_end|>"
    twice = [call("submit", answer="5"), call("submit", answer="0"), end]
    ran = [call("run_python", code="print(0)"), call("submit", answer="0"), end]
    never, wrong = [end], [call("submit", answer="7"), end]
    dataset = tiny.rows(1, conversational=True)
    trainer = tiny.trained(
        tmp_path,
        [],
        kind=scripted([twice, ran, never, wrong]),
        words=words,
        dataset=dataset,
        more={"environment_factory": make, "advantages": AdvantageStage(by_turn)},
        per_device_train_batch_size=4,
        max_completion_length=500,
    )
    turns = [environment.turn_rewards for environment in trainer.environments]
    assert turns == [[0.0, 1.0], [1.0], [0.0], [0.0]]
    logged = trainer.state.log_history[0]
    assert logged["rewards/PythonEnvironment/mean"] == 0.5
    assert logged["tools/call_frequency"] == 5 / 4
    advantages, mask = trainer.taken["advantages"], trainer.taken["tool_mask"]
    assert advantages.shape == mask.shape
    first = advantages[0]
    assert first[0] < first[int(mask[0].nonzero()[0]) + len(words(twice[0])["input_ids"])]


@pytest.mark.parametrize("tool", ["prolog", "sql"])
def test_trl_runs_the_other_tools(tmp_path, request, tool):
    trl = needs("trl")
    template = (Path(trl.__file__).parent / "chat_templates" / "qwen3.jinja").read_text("utf-8")
    words = tiny.tokenizer(MARKS, template, eos="<|im_end|>")
    factory = request.getfixturevalue(tool)
    end = "It is done.<|im_end|>"
    if tool == "prolog":
        dataset = tiny.rows(1, conversational=True)  # the reference is 0
        asked = call("prolog", program="a(0).", query="a(X)")
        right, wrong = call("submit", answer="0"), call("submit", answer="7")
    else:
        from datasets import Dataset

        prompt = [{"role": "user", "content": "Which rivers?"}]
        dataset = Dataset.from_list([{"prompt": prompt, "reference": RIVERS}])
        asked = call("query", sql="SELECT COUNT(*) FROM river")
        right = call("submit", answer=RIVERS["sql"])
        wrong = call("submit", answer="SELECT km, km FROM river")
    trainer = tiny.trained(
        tmp_path,
        [],
        kind=scripted([[asked, right, end], [wrong, right, end], [asked, end], [end]]),
        words=words,
        dataset=dataset,
        more={"environment_factory": factory, "advantages": AdvantageStage(by_turn)},
        per_device_train_batch_size=4,
        max_completion_length=700,
    )
    turns = [environment.turn_rewards for environment in trainer.environments]
    assert [len(own) for own in turns] == [1, 2, 1, 1]
    assert [own[-1] for own in turns][:2] == [1.0, 1.0]
    assert max(own[-1] for own in turns[2:]) < 1.0
    logged = trainer.state.log_history[0]
    assert logged["tools/call_frequency"] == 5 / 4
    assert logged["tools/failure_frequency"] == 0
    texts = words.batch_decode(trainer.taken["completion_ids"])
    assert ("X = 0" if tool == "prolog" else "COUNT(*)\n3") in texts[0]
    advantages = trainer.taken["advantages"]
    assert advantages.shape == trainer.taken["tool_mask"].shape
    assert advantages[1][0] < advantages[1].max()
