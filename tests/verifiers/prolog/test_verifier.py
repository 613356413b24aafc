"""The contract: total, movable, in order, and lost runs are repeated or abstained from."""

import os
import pickle
import signal
import threading
from collections.abc import Iterator
from multiprocessing import get_context

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rewardkit import Reason
from rewardkit.completion import Completion
from rewardkit.errors import ConfigError, EngineMissingError
from rewardkit.verdict import Json
from rewardkit.verifiers.catalog import make_verifier
from rewardkit.verifiers.prolog import PrologVerifier, engine
from tests.runtime.processes import is_gone_soon

REFERENCE: Json = {"query": "solve(X)", "expect": {"type": "answer", "value": 30}}
RIGHT = "solve(X) :- X is 5*6."


@pytest.fixture
def own() -> Iterator[PrologVerifier]:
    with PrologVerifier(timeout_s=2, inferences=1_000_000) as made:
        yield made


@settings(max_examples=25, deadline=None)
@given(
    text=st.one_of(
        st.text(max_size=200),
        st.text("solve(X):-is.,'\"\\0%[]{}|! \n", max_size=200),
        st.text(max_size=60).map(lambda part: f"{RIGHT}\n:- {part}.\n"),
    )
)
def test_any_text_gets_a_verdict(verifier: PrologVerifier, text: str) -> None:
    verdict = verifier.verify(text, REFERENCE)
    assert verdict.score in (0.0, 1.0)
    assert verdict.to_json()


@pytest.mark.parametrize(
    "completion", [None, [], [{"role": "user", "content": RIGHT}, {"role": "assistant"}], "\ud800"]
)
def test_no_program_is_a_verdict_too(verifier: PrologVerifier, completion: Completion) -> None:
    assert verifier.verify(completion, REFERENCE).score in (0.0, 1.0)


def test_a_huge_completion_is_refused_unread(verifier: PrologVerifier) -> None:
    verdict = verifier.verify("solve(30). " * 1_000_000, REFERENCE)
    assert (verdict.score, verdict.reason) == (0.0, Reason.SIZE_LIMIT)


def test_the_parts_say_how_far_it_came(verifier: PrologVerifier) -> None:
    right = verifier.verify("five(5).\nsolve(X) :- five(F), X is F*6.", REFERENCE)
    # Both clauses are reached, and the proof is two deep: (1 + 2/3) / 2.
    assert right.parts == pytest.approx(
        {
            "syntax": 1.0,
            "execution": 1.0,
            "semantics": 1.0,
            "structure": 5 / 6,
            "auditability": 1.0,
        }
    )
    broken = verifier.verify("solve(X :- X is 5*6.", REFERENCE)
    assert broken.parts == {"syntax": 0.0, "execution": 0.0, "semantics": 0.0}
    wrong = verifier.verify("solve(X) :- X is 5*7.", REFERENCE)
    assert (wrong.parts["execution"], wrong.parts["semantics"]) == (1.0, 0.0)


def test_a_batch_keeps_its_order_and_equal_pairs_agree(verifier: PrologVerifier) -> None:
    programs = [RIGHT, "solve(31).", RIGHT, "solve(", RIGHT]
    verdicts = verifier.verify_batch(programs, [REFERENCE] * 5)
    assert [v.score for v in verdicts] == [1.0, 0.0, 1.0, 0.0, 1.0]
    assert [v.answer for v in verdicts] == programs


def test_the_detail_of_an_error_is_the_error_alone(verifier: PrologVerifier) -> None:
    detail = verifier.verify("helper(1).", REFERENCE).detail
    assert detail == "engine: existence_error(procedure,solve/1)"


def test_verdicts_do_not_hang_on_what_ran_before(verifier: PrologVerifier) -> None:
    hostile = ":- dynamic solve/1.\n:- assertz(user:solve(30)), nb_setval(k, 30), op(0, xfx, is)."
    verifier.verify(hostile, REFERENCE)
    assert verifier.verify("helper(1).", REFERENCE).evidence["outcome"] == "undefined"
    assert verifier.verify("solve(X) :- nb_getval(k, X).", REFERENCE).score == 0.0
    assert verifier.verify(RIGHT, REFERENCE).passed


def test_chance_is_the_same_every_time(verifier: PrologVerifier) -> None:
    program = "solve(X) :- X is random(1000000)."
    first, second = (verifier.verify(program, REFERENCE).detail for _ in range(2))
    assert first == second


def test_a_verifier_moves_without_its_engine(own: PrologVerifier) -> None:
    assert own.verify(RIGHT, REFERENCE).passed
    with pickle.loads(pickle.dumps(own)) as copy:
        assert copy.verify(RIGHT, REFERENCE).passed


def test_threads_and_forked_children_may_use_it(own: PrologVerifier) -> None:
    passed: list[bool] = []

    def work() -> None:
        passed.append(own.verify(RIGHT, REFERENCE).passed)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert passed == [True] * 4
    child = get_context("fork").Process(target=_exit_by_verdict, args=(own,))
    child.start()
    child.join()
    assert child.exitcode == 7
    assert own.verify(RIGHT, REFERENCE).passed


def _exit_by_verdict(verifier: PrologVerifier) -> None:
    passed = verifier.verify(RIGHT, REFERENCE).passed
    verifier.close()
    os._exit(7 if passed else 1)


def test_a_batch_survives_the_death_of_its_fork_server(own: PrologVerifier) -> None:
    own.verify(RIGHT, REFERENCE)
    servers = [server.process.pid for server in own.engine.sandbox._pool.servers]
    programs = [f"solve(X) :- X is 5*6.\n% {i}" for i in range(60)]

    def kill() -> None:
        for pid in servers:
            os.kill(pid, signal.SIGKILL)

    timer = threading.Timer(0.15, kill)
    timer.start()
    verdicts = own.verify_batch(programs, [REFERENCE] * len(programs))
    timer.join()
    assert [v.score for v in verdicts] == [1.0] * len(programs)
    assert all(is_gone_soon(pid) for pid in servers)


def test_a_sandbox_lost_again_and_again_is_an_abstention(
    own: PrologVerifier, monkeypatch: pytest.MonkeyPatch
) -> None:
    own.check_reference(REFERENCE)

    def lose() -> engine.Talk:
        raise engine.LostError("gone")

    monkeypatch.setattr(own.engine, "talk", lose)
    verdict = own.verify(RIGHT, REFERENCE)
    assert (verdict.score, verdict.reason) == (None, Reason.ENGINE_FAILURE)


def test_a_missing_engine_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "find_library", lambda: "")
    with pytest.raises(EngineMissingError, match="apt-get install swi-prolog-nox"):
        PrologVerifier()


@pytest.mark.parametrize(
    "options",
    [
        {"timeout_s": 0},
        {"wall_s": -1.0},
        {"inferences": 10},
        {"memory_bytes": 1},
        {"max_solutions": 0},
        {"hidden_queries": -1},
        {"workers": 0},
        {"auditable": True, "audit": False},
    ],
)
def test_an_option_outside_its_range_is_named(options: dict[str, float]) -> None:
    with pytest.raises(ConfigError, match=next(iter(options))):
        PrologVerifier(**options)  # type: ignore[arg-type]


def test_it_is_in_the_catalog_and_the_package() -> None:
    import rewardkit

    assert isinstance(make_verifier("prolog", timeout_s=1.0), rewardkit.PrologVerifier)


def test_the_static_sandbox_is_a_signal_and_no_gate() -> None:
    with PrologVerifier(sandbox_signal=True) as verifier:
        plain = verifier.verify(RIGHT, REFERENCE)
        prints = verifier.verify("solve(X) :- X is 5*6, write(X).", REFERENCE)
    assert plain.evidence["sandbox"] == "safe"
    assert "write" in str(prints.evidence["sandbox"])
    assert plain.passed
    assert prints.passed


def test_hidden_queries_can_be_left_out(verifier: PrologVerifier) -> None:
    source = "sq(X, Y) :- Y is X*X."
    reference: Json = {"query": "sq(4, Y)", "expect": {"type": "program", "source": source}}
    with PrologVerifier(hidden_queries=0) as trusting:
        assert trusting.verify("sq(4, 16).", reference).passed
    assert not verifier.verify("sq(4, 16).", reference).passed
    assert verifier.verify("sq(X, Y) :- Y is X**2.", reference).passed


def test_a_query_that_cannot_be_read_is_the_references_fault(verifier) -> None:
    reference = {"query": "f(X", "expect": {"type": "answer", "value": 1}}
    verdict = verifier.verify("f(1).", reference)
    assert verdict.score is None
    assert verdict.reason is Reason.UNPARSABLE
    assert "query cannot be read: f(X" in verdict.detail
    # A program that makes a fine query unreadable fails by itself, and one that is none does too.
    fine = {"query": "X is 1 + 1", "expect": {"type": "answer", "value": 2}}
    assert verifier.verify(":- op(0, yfx, +).\nf(1).", fine).score == 0
    assert verifier.verify("f(1", reference).score == 0


def test_a_query_may_need_operators_of_the_program(verifier) -> None:
    reference = {"query": "a ==> X", "expect": {"type": "solutions", "value": [["b"]]}}
    assert verifier.verify(":- op(700, xfx, ==>).\na ==> b.", reference).passed
    # A reference program that answers the query shows that it can be read.
    source = ":- op(700, xfx, ==>).\na ==> b."
    shown = {"query": "a ==> X", "expect": {"type": "program", "source": source}}
    assert verifier.verify(source, shown).passed
    assert verifier.verify("c(d).", shown).score == 0
