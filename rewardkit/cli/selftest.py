"""`rewardkit selftest`: known attacks on proof checking, run against the user's own set-up."""

from typing import Annotated

import typer

from rewardkit.cli._console import EXIT_NOT_PASSED, counted, explain_errors

__all__ = ["selftest"]


@explain_errors
def selftest(
    system: Annotated[str, typer.Argument(help="lean, dafny or rocq.")],
    option: Annotated[
        list[str] | None,
        typer.Option(help="An option of the verifier as key=value, as in tier=hostile."),
    ] = None,
) -> None:
    """Run the attack suite of a proof system: no attack may pass, and every honest proof must.

    **Example**

    `rewardkit selftest lean --option project=my_mathlib_project`

    **Exit codes**: 0 all is as it should be; 1 an attack passed or an honest proof did not;
    2 something must be corrected first.
    """
    from rich.console import Console
    from rich.text import Text

    from rewardkit.errors import ConfigError
    from rewardkit.verifiers.catalog import make_verifier, parse_options
    from rewardkit.verifiers.formal.base import FormalVerifier
    from rewardkit.verifiers.formal.selftest import read_suite, run_suite

    read_suite(system)
    console = Console()
    trials = []
    with make_verifier(system, **parse_options(system, option or [])) as verifier:
        if not isinstance(verifier, FormalVerifier):
            raise ConfigError(f"{system!r} checks no proofs")
        for trial in run_suite(system, verifier):
            trials.append(trial)
            kind = "honest" if trial.honest else "attack"
            state = "proved" if trial.verdict.passed else trial.verdict.reason.value
            mark = Text("ok  " if trial.sound else "BAD ", style="green" if trial.sound else "red")
            console.print(mark, f"{kind} {trial.name:24} {state:16} {trial.why}", highlight=False)
    attacks = [trial for trial in trials if not trial.honest]
    passed = [trial.name for trial in attacks if trial.verdict.passed]
    honest = [trial for trial in trials if trial.honest]
    proved = sum(trial.verdict.passed for trial in honest)
    console.print(
        f"{len(passed)} of {counted(len(attacks), 'attack')} accepted, {proved} of "
        f"{counted(len(honest), 'honest proof')} accepted",
        highlight=False,
    )
    tools = sorted({str(trial.verdict.evidence.get("replay", "")) for trial in honest} - {""})
    if system == "lean":
        without = "none here: the scan refuses what only a replay could see"
        console.print(f"kernel replay: {', '.join(tools) or without}", highlight=False)
    if not all(trial.sound for trial in trials):
        raise typer.Exit(EXIT_NOT_PASSED)
