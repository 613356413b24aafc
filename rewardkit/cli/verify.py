"""`rewardkit verify`: grades one completion."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rewardkit.cli._console import EXIT_ABSTAINED, EXIT_NOT_PASSED, explain_errors
from rewardkit.cli._options import (
    ModeOption,
    OptionTexts,
    VerifierName,
    build_verifier,
    read_options,
)
from rewardkit.errors import ConfigError, DataError, InvalidReferenceError

if TYPE_CHECKING:
    from rewardkit.verdict import Json, Verdict

__all__ = ["verify"]


@explain_errors
def verify(
    completion: Annotated[
        str, typer.Argument(help="What the model wrote; `@file` reads a file, `-` standard input.")
    ],
    reference: Annotated[
        str, typer.Argument(help="What it is graded against; `@file` and `-` work here too.")
    ],
    verifier: VerifierName = "math",
    mode: ModeOption = None,
    option: OptionTexts = None,
    reference_json: Annotated[
        bool,
        typer.Option(
            "--reference-json", help="The reference is JSON: a list, an object, a number."
        ),
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the verdict as one JSON object.")
    ] = False,
) -> None:
    r"""Grade one completion, and say what was graded, which tier decided, and why.

    **Examples**

    `rewardkit verify 'so \boxed{\frac12}' 0.5`

    `rewardkit verify @answer.txt 42 --mode lenient --json`

    `generate | rewardkit verify - 'x^2 + 1'`

    `rewardkit verify B '{"answer": "B", "choices": ["x", "y"]}' -v choice --reference-json`

    A completion that begins with a dash goes after `--`: `rewardkit verify -- -5 -5`.

    **Exit codes**: 0 passed; 1 not passed; 2 something must be corrected first, such as a reference
    that cannot be read; 3 the verifier could not decide.
    """
    if completion == reference == "-":
        raise ConfigError("only one of completion and reference can be read from standard input.")
    graded = _read_text(completion)
    expected = _read_text(reference)
    value = _read_json(expected) if reference_json else expected
    with build_verifier(verifier, read_options(verifier, mode, option)) as made:
        try:
            verdict = made.verify(graded, value)
        except InvalidReferenceError as error:
            if reference_json or not expected.lstrip().startswith(("{", "[")):
                raise
            raise InvalidReferenceError(f"{error} (is it JSON? then --reference-json)") from None
    if as_json:
        typer.echo(verdict.to_json())
    else:
        _print_verdict(verdict)
    if verdict.abstained:
        raise typer.Exit(EXIT_ABSTAINED)
    if not verdict.passed:
        raise typer.Exit(EXIT_NOT_PASSED)


def _read_text(argument: str) -> str:
    """Returns the argument, or what it points to without the line end that a shell adds."""
    try:
        if argument == "-":
            data = sys.stdin.buffer.read()
        elif argument.startswith("@"):
            data = Path(argument[1:]).read_bytes()
        else:
            return argument
    except OSError as error:
        raise DataError(f"{argument}: cannot be read: {error.strerror or error}.") from None
    # Bytes that are not UTF-8 are hostile or broken model output: graded all the same.
    text = data.decode("utf-8", "replace")
    return text.removesuffix("\n").removesuffix("\r")


def _read_json(text: str) -> "Json":
    try:
        value: Json = json.loads(text)
    except RecursionError:
        raise DataError("the reference is nested too deep to be read.") from None
    except ValueError as error:
        raise DataError(f"the reference is not JSON: {error}.") from None
    return value


def _print_verdict(verdict: "Verdict") -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from rewardkit.report.visible import visible_text

    style, word = "red", "not passed"
    if verdict.abstained:
        style, word = "yellow", "abstained"
    elif verdict.passed:
        style, word = "green", "passed"
    table = Table.grid(padding=(0, 2))
    score = "none: could not decide" if verdict.score is None else f"{verdict.score:g}"
    table.add_row("score", Text(f"{score}  ({word})", style=f"bold {style}"))
    table.add_row("reason", verdict.reason.value)
    table.add_row("graded", Text("nothing" if verdict.answer is None else _short(verdict.answer)))
    table.add_row("why", Text(visible_text(verdict.detail)))
    for name, value in verdict.evidence.items():
        table.add_row(Text(visible_text(name)), Text(_short(_as_text(value))))
    for name, part in verdict.parts.items():
        table.add_row(Text(f"part {visible_text(name)}"), f"{part:g}")
    table.add_row("time", _time(verdict.seconds))
    Console().print(table, highlight=False)


def _time(seconds: float) -> str:
    return f"{seconds:.3g} s" if seconds >= 0.9995 else f"{seconds * 1e3:.3g} ms"


def _as_text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _short(text: str, limit: int = 2000) -> str:
    from rewardkit.report.visible import visible_text

    shown = visible_text(text[:limit])
    return shown if len(text) <= limit else f"{shown} … ({len(text):,} characters)"
