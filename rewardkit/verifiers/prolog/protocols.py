"""How a model may use Prolog on a problem: one try, several tries, or as a tool in a conversation.

The three protocols of arXiv 2512.07407. None of them tells the model whether an answer is right.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from rewardkit.errors import ConfigError
from rewardkit.verdict import Json, Verdict
from rewardkit.verifiers.prolog.session import PrologSession
from rewardkit.verifiers.prolog.verifier import PrologVerifier

__all__ = ["PROTOCOLS", "Episode", "Model", "run_protocol"]

PROTOCOLS = ("single", "multiple", "agentic")
Model: TypeAlias = Callable[[Sequence[Mapping[str, Any]]], str]
"""A chat's messages in, the assistant's next text out."""

_TOOL_CALL = re.compile(r"<tool_call>(.*?)</tool_call>", re.DOTALL)
_MAX_CALLS = 8
_GIVES_A_VALUE = ("ok", "wrong")


@dataclass(frozen=True, slots=True)
class Episode:
    """One problem, from the prompt to the verdict."""

    messages: tuple[Mapping[str, Any], ...]
    """The conversation of the last try."""
    verdict: Verdict
    tries: int
    """How often the model was asked."""
    tool_calls: int = 0


def run_protocol(
    model: Model,
    prompt: Sequence[Mapping[str, Any]],
    reference: Json,
    verifier: PrologVerifier,
    *,
    protocol: str = "single",
    max_tries: int = 20,
) -> Episode:
    """Returns what a model makes of a problem under a protocol.

    - single: the model is asked once.
    - multiple: it is asked anew, with the same prompt, until its program gives a value of whatever
      kind, at most `max_tries` times.
    - agentic: a reply with `<tool_call>{"program": …, "query": …}</tool_call>` is answered by a
      `PrologSession`, and the conversation goes on; the first reply without one is graded. After
      `max_tries` replies the last one is.

    Args:
        model: what is asked.
        prompt: the chat up to the model's turn.
        reference: as `verifier.verify` takes it.
        verifier: grades the last reply; its engine runs the tool.
        protocol: one of `PROTOCOLS`.
        max_tries: most times that the model is asked.

    Raises:
        ConfigError: no such protocol, or `max_tries` is below 1.
        InvalidReferenceError: the reference cannot be read.
    """
    if protocol not in PROTOCOLS:
        raise ConfigError(f"protocol is one of {', '.join(PROTOCOLS)}, not {protocol!r}")
    if max_tries < 1:
        raise ConfigError(f"max_tries is at least 1, not {max_tries!r}")
    if protocol == "agentic":
        return _converse(model, prompt, reference, verifier, max_tries)
    most = 1 if protocol == "single" else max_tries
    tries = 0
    while tries < most:
        tries += 1
        reply = model(list(prompt))
        verdict = verifier.verify(reply, reference)
        if verdict.evidence.get("outcome") in _GIVES_A_VALUE:
            break
    messages = (*prompt, {"role": "assistant", "content": reply})
    return Episode(messages, verdict, tries)


def _converse(
    model: Model,
    prompt: Sequence[Mapping[str, Any]],
    reference: Json,
    verifier: PrologVerifier,
    max_tries: int,
) -> Episode:
    messages: list[Mapping[str, Any]] = list(prompt)
    used = tries = 0
    with PrologSession(engine=verifier.engine, max_turns=2 * _MAX_CALLS * max_tries) as session:
        while tries < max_tries:
            tries += 1
            reply = model(list(messages))
            messages.append({"role": "assistant", "content": reply})
            calls = _TOOL_CALL.findall(reply)[:_MAX_CALLS]
            if not calls:
                break
            for call in calls:
                used += 1
                messages.append({"role": "tool", "content": _carry_out(session, call)})
    return Episode(tuple(messages), verifier.verify(reply, reference), tries, used)


def _carry_out(session: PrologSession, call: str) -> str:
    try:
        given = json.loads(call)
    except (ValueError, RecursionError):
        return "the tool call is not JSON"
    if isinstance(given, dict) and isinstance(given.get("arguments"), dict):
        given = given["arguments"]
    return session.call(given)
