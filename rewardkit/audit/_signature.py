"""How a reward wants to be called: its signature and, where that says little, its source."""

import ast
import inspect
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

__all__ = ["REFERENCE_NAMES", "CallPlan", "plan_call"]

_BATCHES = (
    "completions", "responses", "outputs", "predictions", "generations", "texts", "preds",
    "candidates", "samples", "rollouts", "model_outputs", "contents",
)  # fmt: skip
_SINGLES = (
    "completion", "response", "solution_str", "output", "prediction", "generation", "text", "pred",
    "candidate", "model_output", "content", "output_text", "generated_text", "model_answer",
    "student_answer", "generated", "sample", "rollout", "predicted", "message",
)  # fmt: skip
REFERENCE_NAMES = (
    "reference", "answer", "solution", "ground_truth", "target", "label", "references", "answers",
    "solutions", "ground_truths", "targets", "labels", "gold", "golds", "gold_answer", "gt",
    "expected", "expected_answer", "correct_answer", "truth", "correct", "tests", "test_cases",
    "unit_tests", "test_list", "cases", "checks", "schema", "test", "formal_statement", "statement",
    "theorem", "spec", "specification",
)  # fmt: skip
"""Columns that hold references, the likeliest first."""
_PROMPTS = (
    "prompts", "prompt", "questions", "question", "problem", "problems", "query", "queries",
    "instruction", "instructions",
)  # fmt: skip
_TOKENS = ("completion_ids", "completions_ids", "token_ids", "tokens", "completion_tokens")
_WITHOUT_COLUMN = (
    "trainer_state",
    "log_extra",
    "log_metric",
    "environments",
    "state",
    "rng",
    "seed",
)


@dataclass(frozen=True, slots=True)
class CallPlan:
    """Which argument of a function takes what."""

    completion: str
    batched: bool
    """True: lists with one entry per completion."""
    certain: bool
    """False if `batched` is a guess that a trial call may correct."""
    reference: str | None
    prompt: str | None
    others: tuple[str, ...]
    """Other arguments that must be given."""
    positional: tuple[str, ...]
    """Arguments that can be given by position only."""
    extra: bool
    """True if stray keyword arguments are accepted."""


def plan_call(function: Callable[..., Any], *, reference_column: str | None) -> CallPlan:
    """Returns the plan of a function.

    Raises:
        ValueError: it has no argument for a completion, or its signature cannot be read.
    """
    parameters = list(inspect.signature(function).parameters.values())
    named = [p for p in parameters if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    catch_all = next((p.name for p in parameters if p.kind is p.VAR_KEYWORD), None)
    asked = _columns_asked(function, catch_all) if catch_all else {}
    names = [p.name for p in named]
    required = [p.name for p in named if p.default is p.empty]
    known = [*names, *asked]
    completion = next((n for n in (*_BATCHES, *_SINGLES) if n in names), None)
    if completion is None:
        free = [n for n in required if n not in (*_PROMPTS, reference_column)]
        if not free:
            raise ValueError(
                "it has no argument for the completion: call it `completion` or `completions`"
            )
        completion = free[0]
    rest = [n for n in known if n != completion]
    reference = reference_column or next((n for n in REFERENCE_NAMES if n in rest), None)
    prompt = next((n for n in _PROMPTS if n in rest and n != reference), None)
    taken = {completion, reference, prompt}
    unknown = [n for n in required if n not in taken and n not in (*_TOKENS, *_WITHOUT_COLUMN)]
    unknown = [n for n in unknown if n not in ("data_source", "extra_info", "task")]
    if reference is None and len(unknown) == 1:
        reference = unknown[0]
    needed = [n for n in rest if n in required or asked.get(n)]
    optional_tokens = [n for n in rest if n in _TOKENS]
    return CallPlan(
        completion=completion,
        batched=completion in _BATCHES or (completion not in _SINGLES and completion.endswith("s")),
        certain=completion in (*_BATCHES, *_SINGLES),
        reference=reference,
        prompt=prompt,
        others=tuple(
            dict.fromkeys(n for n in (*needed, *optional_tokens) if n not in (reference, prompt))
        ),
        positional=tuple(p.name for p in named if p.kind is p.POSITIONAL_ONLY),
        extra=catch_all is not None,
    )


def _columns_asked(function: Callable[..., Any], catch_all: str) -> dict[str, bool]:
    """Returns the columns that the body reads out of its `**kwargs`; True where it must be there."""
    target = function if inspect.isroutine(function) else type(function).__call__
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(target)))
    except (OSError, TypeError, SyntaxError):
        return {}
    asked: dict[str, bool] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Subscript) and _is_name(node.value, catch_all):
            key, must = node.slice, True
        elif (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in ("get", "pop")
            and _is_name(node.func.value, catch_all)
            and node.args
        ):
            key, must = node.args[0], False
        else:
            continue
        if isinstance(key, ast.Constant) and isinstance(key.value, str):
            asked[key.value] = asked.get(key.value, False) or must
    return asked


def _is_name(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name
