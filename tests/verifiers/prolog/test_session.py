"""Prolog as a tool: sessions, protocols, and the backend on pyswip."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pytest

from rewardkit.errors import ConfigError
from rewardkit.verdict import Json
from rewardkit.verifiers.prolog import PrologVerifier
from rewardkit.verifiers.prolog.engine import RunLimits
from rewardkit.verifiers.prolog.protocols import run_protocol
from rewardkit.verifiers.prolog.session import TOOL_SCHEMA, PrologSession
from tests._needs import needs

LIMITS = RunLimits(inferences=1_000_000, timeout_s=2.0)
REFERENCE: Json = {"query": "solve(X)", "expect": {"type": "answer", "value": 30}}
PROMPT = [{"role": "user", "content": "5 times 6?"}]


@pytest.fixture
def session(verifier: PrologVerifier) -> Iterator[PrologSession]:
    with PrologSession(engine=verifier.engine) as made:
        yield made


def test_clauses_stay_and_queries_answer_from_them(session: PrologSession) -> None:
    assert session.consult("rolls(6, 24).").ok
    assert session.consult("left(L) :- rolls(T, R), L is T*R-95.").text == "ok"
    assert session.query("left(X)").text == "X = 49"
    assert session.query("?- left(X).").solutions == ("X = 49",)
    assert session.query("left(50)").text == "false"
    session.reset()
    assert session.query("left(X)").outcome == "undefined"


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("member(X, [a, 'B c', \"s\"])", "X = a\nX = 'B c'\nX = \"s\""),
        ("X is 2**80", "X = 1208925819614629174706176"),
        ("X = f(A, B), A = B", "X = f(A,A)"),
        ("dif(X, a)", "dif(X,a)"),
        ("between(1, inf, X)", "X = 1\nX = 2\nX = 3\n…"),
        ("format('hi~n')", "hi\ntrue"),
    ],
)
def test_solutions_are_shown_as_at_a_toplevel(
    session: PrologSession, query: str, text: str
) -> None:
    assert session.query(query, max_solutions=3).text == text


@pytest.mark.parametrize(
    ("query", "outcome"),
    [
        ("repeat, fail", "timeout"),
        ("halt", "unsafe"),
        ("shell(id)", "unsafe"),
        ("X is", "error"),
        ("length(_, 30000000)", "resource"),
        ("forall(repeat, format('aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'))", "unbounded"),
        ("a\0b", "syntax_error"),
    ],
)
def test_a_turn_that_goes_wrong_takes_nothing_along(
    verifier: PrologVerifier, query: str, outcome: str
) -> None:
    with PrologSession(engine=verifier.engine) as session:
        session.consult("a(1).")
        turn = session.query(query)
        assert not turn.ok
        assert turn.outcome == outcome
        assert turn.text
        assert session.query("a(X)").text == "X = 1"


def test_what_cannot_be_loaded_is_not_kept(session: PrologSession) -> None:
    session.consult("a(1).")
    assert session.consult("b(.").outcome == "syntax_error"
    assert session.consult(":- halt.").outcome == "unsafe"
    assert session.program == "a(1)."
    session.query("assertz(a(2))")
    assert session.query("a(X)").text == "X = 1"


def test_turns_and_size_are_limited(verifier: PrologVerifier) -> None:
    with PrologSession(engine=verifier.engine, max_turns=2, max_chars=20) as session:
        assert session.consult("a" * 30).outcome == "size"
        assert session.query("true").ok
        assert session.query("true").outcome == "turns"
    with pytest.raises(ConfigError, match="max_turns"):
        PrologSession(engine=verifier.engine, max_turns=0)
    with pytest.raises(ConfigError, match="max_solutions"):
        session.query("true", max_solutions=0)


def test_a_call_of_the_tool_never_raises(session: PrologSession) -> None:
    assert session.call({"program": "a(1). a(2).", "query": "a(X)"}) == "X = 1\nX = 2"
    assert session.call({"query": "a(X)", "reset": True}).startswith("error(existence_error")
    odd: list[Any] = [{}, {"query": 3}, "a(X)", None]
    assert all(session.call(arguments) for arguments in odd)
    assert isinstance(TOOL_SCHEMA, dict)
    assert json.dumps(TOOL_SCHEMA)


class Scripted:
    """A model that gives its replies in turn."""

    def __init__(self, *replies: str) -> None:
        self.replies = list(replies)
        self.seen: list[list[Mapping[str, Any]]] = []

    def __call__(self, messages: Sequence[Mapping[str, Any]]) -> str:
        self.seen.append(list(messages))
        return self.replies.pop(0)


def test_one_try_is_graded_as_it_is(verifier: PrologVerifier) -> None:
    model = Scripted("solve(", "solve(30).")
    episode = run_protocol(model, PROMPT, REFERENCE, verifier)
    assert (episode.tries, episode.verdict.score) == (1, 0.0)


def test_several_tries_end_with_the_first_value_right_or_wrong(verifier: PrologVerifier) -> None:
    model = Scripted("solve(", "solve(X) :- fail.", "solve(7).", "solve(30).")
    episode = run_protocol(model, PROMPT, REFERENCE, verifier, protocol="multiple")
    assert (episode.tries, episode.verdict.score) == (3, 0.0)
    assert all(seen == PROMPT for seen in model.seen)


def test_an_agent_reads_what_the_tool_says(verifier: PrologVerifier) -> None:
    call = json.dumps({"program": "f(X) :- X is 5*6.", "query": "f(X)"})
    model = Scripted(
        f"<tool_call>{call}</tool_call><tool_call>not json</tool_call>", "solve(X) :- X is 5*6."
    )
    episode = run_protocol(model, PROMPT, REFERENCE, verifier, protocol="agentic")
    assert episode.verdict.passed
    assert (episode.tries, episode.tool_calls) == (2, 2)
    tools = [m["content"] for m in model.seen[1] if m["role"] == "tool"]
    assert tools == ["X = 30", "the tool call is not JSON"]


def test_protocols_are_named_and_bounded(verifier: PrologVerifier) -> None:
    with pytest.raises(ConfigError, match="protocol"):
        run_protocol(Scripted(), PROMPT, REFERENCE, verifier, protocol="many")
    with pytest.raises(ConfigError, match="max_tries"):
        run_protocol(Scripted(), PROMPT, REFERENCE, verifier, max_tries=0)
    endless = Scripted(*["<tool_call>{}</tool_call>"] * 3)
    episode = run_protocol(endless, PROMPT, REFERENCE, verifier, protocol="agentic", max_tries=3)
    assert (episode.tries, episode.verdict.score) == (3, 0.0)


def test_pyswip_keeps_its_state_in_a_child_that_can_be_killed() -> None:
    needs("pyswip")
    from rewardkit.verifiers.prolog.pyswip_backend import PyswipSession

    with PyswipSession(timeout_s=1.0) as session:
        assert session.consult(
            ":- dynamic n/1.\nn(0).\nup(X) :- retract(n(Y)), X is Y+1, assertz(n(X))."
        ).ok
        assert session.query("up(X)").text == "X = 1"
        assert session.query("up(X)").text == "X = 2"
        assert session.query("X is 1r3 + 2**70").text == "X = 3541774862152233910273r3"
        assert session.query("X = 'größe'").text == "X = größe"
        assert session.query("nothing(X)").outcome == "undefined"
        assert session.query("fail").text == "false"
        assert session.consult("b(.").outcome == "syntax_error"
        assert session.query("halt").outcome == "crash"
        assert session.query("up(X)").outcome == "undefined"
        assert session.query("sleep(30)").outcome == "timeout"
        assert session.query("X = 1").text == "X = 1"
    with pytest.raises(ConfigError, match="timeout_s"):
        PyswipSession(timeout_s=0)
    with pytest.raises(ConfigError, match="in_process"):
        PyswipSession(in_process=True).reset()
