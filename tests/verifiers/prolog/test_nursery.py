"""Programs share a kept sandbox and nothing else: each has a process, and limits, of its own."""

import os
import signal
import threading
from collections.abc import Iterator

import pytest

from rewardkit.sandbox import Session
from rewardkit.verdict import Json
from rewardkit.verifiers.prolog import PrologVerifier, nursery
from tests._needs import needs_program
from tests.runtime.processes import descendants, is_gone_soon

REFERENCE: Json = {"query": "solve(X)", "expect": {"type": "answer", "value": 30}}
RIGHT = "solve(X) :- X is 5*6."
QUERY = {"text": "solve(X)", "wanted": -1, "max_rows": 9, "max_distinct": 9}


@pytest.fixture
def own() -> Iterator[PrologVerifier]:
    needs_program("swipl", get="apt-get install swi-prolog-nox")
    with PrologVerifier(timeout_s=2, inferences=1_000_000, memory_bytes=192 << 20) as made:
        yield made


def kept_processes(verifier: PrologVerifier) -> list[int]:
    """Returns the processes below the fork servers: inits, kept parents, and their forks."""
    servers = [server.process.pid for server in verifier.engine.sandbox._pool.servers]
    return [pid for server in servers for pid in descendants(server) if pid not in servers]


@pytest.mark.parametrize(
    ("leaves", "finds"),
    [
        (":- assertz(user:left(30)).", "solve(X) :- catch(user:left(X), _, fail)."),
        (":- nb_setval(left, 30).", "solve(X) :- catch(nb_getval(left, X), _, fail)."),
        (":- b_setval(left, 30), flag(left, _, 30).", "solve(X) :- flag(left, X, X), X > 0."),
        (":- recordz(left, 30).", "solve(X) :- recorded(left, X)."),
        (":- op(700, xfx, is_thirty).", "solve(30) :- current_op(700, xfx, is_thirty)."),
        (
            ":- set_prolog_flag(double_quotes, atom).",
            'solve(30) :- X = "a", atom(X), atom_length(X, 1).',
        ),
        (
            ":- thread_create(forall(repeat, true), _, [alias(left)]).",
            "solve(30) :- catch(thread_property(left, status(running)), _, fail).",
        ),
        (":- style_check(-singleton), garbage_collect.", "solve(X) :- current_module(left), X=30."),
    ],
)
def test_nothing_that_a_program_does_is_there_for_the_next(
    own: PrologVerifier, leaves: str, finds: str
) -> None:
    for number in range(4):  # more than there are kept sandboxes
        assert own.verify(f"{RIGHT}\n{leaves}\n% {number}", REFERENCE).score is not None
        assert own.verify(f"{finds}\n% {number}", REFERENCE).score == 0


@pytest.mark.parametrize(
    "program",
    [
        "solve(X) :- repeat, fail.",  # the inference limit
        "solve(X) :- X is 7**(7**9).",  # no limit inside the engine sees this
        "solve(X) :- numlist(1, 3000000, L), atomics_to_string(L, X), solve(X).",
        "solve(X) :- length(L, 100000000), X = L.",
        "solve(X) :- f(f(f(X))) = X, copy_term(X, Y), X == Y, between(1, inf, _), fail.",
        ":- halt.",
    ],
)
def test_what_ends_one_program_leaves_the_next_alone(own: PrologVerifier, program: str) -> None:
    for number in range(3):
        assert own.verify(f"{program}\n% {number}", REFERENCE).score == 0
        assert own.verify(f"{RIGHT}\n% {number}", REFERENCE).score == 1


def test_each_program_has_processor_time_of_its_own() -> None:
    # Together they use more than one program may.
    work = "solve(30) :- between(1, 300000, X), X >= 300000, !.\n% "
    with PrologVerifier(timeout_s=1, audit=False) as short:
        assert all(short.verify(f"{work}{number}", REFERENCE).passed for number in range(40))


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV])
def test_a_kept_sandbox_that_is_killed_costs_no_verdict(own: PrologVerifier, number: int) -> None:
    own.verify(RIGHT, REFERENCE)
    programs = [f"{RIGHT}\n% {i}" for i in range(80)]
    killed: list[int] = []

    def kill() -> None:
        for pid in kept_processes(own):
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                continue
            killed.append(pid)

    timers = [threading.Timer(delay, kill) for delay in (0.05, 0.2)]
    for timer in timers:
        timer.start()
    verdicts = own.verify_batch(programs, [REFERENCE] * len(programs))
    for timer in timers:
        timer.join()
    assert killed
    # A program's own process may have been among them, which looks like a crash of the program.
    assert all(v.passed or v.evidence["outcome"] == "crash" for v in verdicts)
    assert sum(v.passed for v in verdicts) >= len(verdicts) - 2 * (own.workers + 2)
    assert own.verify(RIGHT, REFERENCE).passed


def test_a_run_that_the_host_breaks_off_is_not_waited_for(
    own: PrologVerifier, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    own.verify_batch([f"{RIGHT}\n% {i}" for i in range(6)], [REFERENCE] * 6)
    talk = own.engine.talk()
    with monkeypatch.context() as patch:
        patch.setattr(Session, "answer", interrupt)  # Ctrl-C, while the program runs
        with pytest.raises(KeyboardInterrupt), talk:
            talk.request(program="solve(X) :- X is 7**(7**9).", queries=[QUERY])
    # Let go of, and so ended by its fork server.
    assert talk.session.streams.from_program == -1
    assert all(own.verify(f"{RIGHT}\n% again {i}", REFERENCE).passed for i in range(6))


def test_a_sandbox_is_replaced_after_its_share_of_programs(
    own: PrologVerifier, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nursery, "_MAX_USES", 3)
    before: set[int] = set()
    for number in range(12):
        assert own.verify(f"{RIGHT}\n% {number}", REFERENCE).passed
        before = before or set(kept_processes(own))
    assert len(before - set(kept_processes(own))) >= 3  # an init, a parent, and its fork


def test_closing_ends_every_kept_process(own: PrologVerifier) -> None:
    own.verify_batch([f"{RIGHT}\n% {i}" for i in range(12)], [REFERENCE] * 12)
    kept = kept_processes(own)
    assert kept
    own.close()
    assert all(is_gone_soon(pid) for pid in kept)
    assert own.verify(RIGHT, REFERENCE).passed
