"""The test of a finding, ready to be pasted into a test file of the reward's project."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rewardkit.audit._jobs import Description
from rewardkit.audit._subject import Case, Spec, Subject

__all__ = ["paste_test"]

_MAX_CHARS = 3000


def paste_test(
    spec: Spec, description: Description, slug: str, cases: Sequence[Case], expect: str
) -> str:
    """Returns the source of a test function; empty where the input is too large to be shown.

    Args:
        spec: which reward.
        description: how it is called.
        slug: names the test.
        cases: its rows.
        expect: a Python condition on `scores`; empty if returning is enough.
    """
    body = _call(spec, description, cases)
    if body is None or len(body) > _MAX_CHARS:
        return ""
    name = re.sub(r"\W+", "_", slug).strip("_")
    lines = [f"def test_{name}():", f"    {_import(spec)}", "", *body.split("\n")]
    lines.append(f"    assert {expect or f'len(scores) == {len(cases)}'}")
    return "\n".join(lines) + "\n"


def _import(spec: Spec) -> str:
    module = Path(spec.place).stem if spec.place.endswith(".py") else spec.place
    outer, _, _ = spec.name.partition(".")
    return f"from {module} import {outer}"


def _call(spec: Spec, description: Description, cases: Sequence[Case]) -> str | None:
    completions = [case.completion for case in cases]
    subject = Subject(None, description.plan, description.sort, None)  # type: ignore[arg-type]
    columns = subject.columns(cases)
    target = spec.name
    if not all(_plain(value) for value in (completions, columns)):
        return None
    if description.sort == "reward":
        given = "".join(f", {name}={column!r}" for name, column in columns.items())
        return f"    scores = {target}.score({completions!r}{given}).scores"
    if description.sort == "verifier":
        made = f"{target}()" if description.name == target else target
        references = columns.pop("reference")
        return (
            f"    verdicts = {made}.verify_batch({completions!r}, {references!r})\n"
            "    scores = [verdict.score for verdict in verdicts]"
        )
    plan = description.plan
    awaited = "asyncio.run({})" if description.is_async else "{}"
    start = "    import asyncio\n\n" if description.is_async else ""
    if plan.batched:
        call = _arguments(target, plan.positional, {plan.completion: completions, **columns})
        return f"{start}    scores = {awaited.format(call)}"
    calls = [
        awaited.format(
            _arguments(
                target,
                plan.positional,
                {plan.completion: c, **{n: v[i] for n, v in columns.items()}},
            )
        )
        for i, c in enumerate(completions)
    ]
    return f"{start}    scores = [{', '.join(calls)}]"


def _arguments(target: str, positional: Sequence[str], given: dict[str, Any]) -> str:
    parts = [repr(given[n]) for n in positional if n in given]
    parts += [f"{n}={v!r}" for n, v in given.items() if n not in positional]
    return f"{target}({', '.join(parts)})"


def _plain(value: Any) -> bool:
    if isinstance(value, dict):
        return all(_plain(v) for v in value.values())
    if isinstance(value, list | tuple):
        return all(_plain(v) for v in value)
    return value is None or isinstance(value, str | int | float | bool)
