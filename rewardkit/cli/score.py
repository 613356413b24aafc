"""`rewardkit score`: grades a whole file."""

import contextlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from rich.console import Console

from rewardkit.cli._console import EXIT_INTERRUPTED, explain_errors, run_interruptibly
from rewardkit.cli._graders import choose_grader
from rewardkit.cli._options import (
    AgainstFile,
    CompletionColumn,
    IdColumn,
    ModeOption,
    OptionalVerifier,
    OptionTexts,
    RayAddress,
    SplitOption,
    make_runner,
)
from rewardkit.errors import ConfigError, DataError

if TYPE_CHECKING:
    from rewardkit.runtime import Runner
    from rewardkit.scoring import ScoreResult
    from rewardkit.verifier import Verifier

__all__ = ["score"]


@explain_errors
def score(
    source: Annotated[
        Path,
        typer.Argument(
            metavar="IN",
            help="`.jsonl`, `.json` (also `.gz`), `.parquet`, or a folder of `save_to_disk`; with "
            "`--runner ray` also a folder of such files, or a pattern: `'rows/*.parquet'`.",
        ),
    ],
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            help="The scored file: `.jsonl` (also `.gz`) or `.parquet`; a folder for many files.",
        ),
    ],
    verifier: OptionalVerifier = None,
    reward: Annotated[
        str | None,
        typer.Option(
            metavar="REWARD",
            help="In a verifier's place: `reward.yaml` (see docs/serving.md), `file.py:name` or "
            "`package.module:name`.",
        ),
    ] = None,
    mode: ModeOption = None,
    option: OptionTexts = None,
    report: Annotated[
        Path | None, typer.Option(help="Write a self-contained HTML report here.")
    ] = None,
    against: AgainstFile = None,
    id_column: IdColumn = None,
    completion_column: CompletionColumn = "completion",
    reference_column: Annotated[
        str | None,
        typer.Option(
            help="Column with the reference; `reward_model.ground_truth` works. "
            "[default: reference, or the one that the reward reads]"
        ),
    ] = None,
    rollout_column: Annotated[
        str, typer.Option(help="Column that is added where a row holds a list of completions.")
    ] = "rollout",
    split: SplitOption = None,
    prefix: Annotated[
        str, typer.Option(help="Put before the added columns `row_id`, `score`, `verdict`.")
    ] = "",
    workers: Annotated[
        int | None, typer.Option(min=1, help="Worker processes. [default: the verifier's own]")
    ] = None,
    runner: Annotated[
        Literal["local", "ray"], typer.Option(help="Where rows are graded: here, or on Ray.")
    ] = "local",
    ray_address: RayAddress = None,
    limit: Annotated[
        int | None, typer.Option(min=1, help="Grade only the first rows. A later run can go on.")
    ] = None,
    on_bad_row: Annotated[
        Literal["stop", "skip"],
        typer.Option(help="A row that cannot be read or used: end with its line, or leave it out."),
    ] = "stop",
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Start anew, whatever is in `--out`.")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the summary as one JSON object.")
    ] = False,
) -> None:
    """Grade every row of a file, and write it with its verdict.

    Each row keeps its columns and gets `score` (0 to 1, null for "could not decide"), `verdict`
    (reason, graded answer, detail, …) and `row_id`. A run that was stopped or killed goes on when
    the same command is given again: nothing is lost, nothing is graded twice.

    **Examples**

    `rewardkit score rollouts.jsonl --out scored.jsonl --report report.html`

    `rewardkit score rollouts.parquet --out scored.parquet --mode lenient
    --completion-column response --reference-column reward_model.ground_truth`

    `rewardkit score rollouts.jsonl --out lenient.jsonl --mode lenient --report report.html
    --against scored.jsonl`

    `rewardkit score rollouts.jsonl --out scored.jsonl --reward my_rewards.py:reward`

    `rewardkit score 'rollouts/*.parquet' --out scored --verifier code --runner ray`

    **Exit codes**: 0 all rows are scored; 2 something must be corrected first; 130 stopped by
    Ctrl-C.
    """
    from rewardkit.cli._progress import ScoreProgressBar
    from rewardkit.datasets import Columns
    from rewardkit.scoring import ScoreResult, score_file
    from rewardkit.scoring._shards import is_sharded

    is_many = is_sharded(source)
    if is_many:
        _check_many(source, runner=runner, split=split, limit=limit)
    _check_paths(source=source, out=out, report=report, against=against)
    if ray_address is not None and runner != "ray":
        raise ConfigError("--ray-address belongs to --runner ray: give both.")
    grader = choose_grader(reward, verifier, mode, option, None if runner == "ray" else workers)
    spread = (
        None if runner == "local" else make_runner(runner, workers=workers, ray_address=ray_address)
    )
    columns = Columns(
        completion=completion_column,
        reference=reference_column or grader.reference,
        rollout=rollout_column,
    )

    def work(should_stop: Callable[[], bool]) -> ScoreResult:
        if is_many:
            return _score_shards(
                made,
                source,
                out,
                spread,
                config=grader.config,
                columns=columns,
                prefix=prefix,
                on_bad_row=on_bad_row,
                overwrite=overwrite,
                on_progress=progress.show,
                should_stop=should_stop,
            )
        return score_file(
            made,
            source,
            out,
            config=grader.config,
            columns=columns,
            split=split,
            prefix=prefix,
            pool=grader.pool,
            runner=spread,
            limit=limit,
            on_bad_row=on_bad_row,
            overwrite=overwrite,
            on_progress=progress.show,
            should_stop=should_stop,
        )

    with (
        grader.make() as made,
        grader.pool or contextlib.nullcontext(),
        spread or contextlib.nullcontext(),
        ScoreProgressBar(Console(stderr=True)) as progress,
    ):
        result = run_interruptibly(work, on_interrupt=progress.say_stopping)
        nodes = _rows_by_node(result, spread)
    if report is not None and not result.stopped and result.tally.rows:
        from rewardkit.report import write_report

        write_report(out, report, against=against, id_column=id_column)
    _print_result(result, out, report, as_json=as_json)
    if nodes:
        typer.echo(nodes, err=True)
    if result.stopped:
        raise typer.Exit(EXIT_INTERRUPTED)


def _print_result(result: "ScoreResult", out: Path, report: Path | None, *, as_json: bool) -> None:
    from rewardkit.cli._summary import print_summary, summary_json

    if as_json:
        places = {"out": str(out), "report": None if report is None else str(report)}
        typer.echo(json.dumps({**places, **summary_json(result)}))
    else:
        print_summary(result, Console())
        _print_places(out, report, stopped=result.stopped)


def _check_paths(*, source: Path, out: Path, report: Path | None, against: Path | None) -> None:
    """Checks before hours of work what would fail after them."""
    if report is None:
        if against is not None:
            raise ConfigError("--against is shown in the report: give --report as well.")
        return
    if not report.parent.is_dir():
        raise DataError(f"{report}: the folder {report.parent} does not exist; create it first.")
    if report.suffix.lower() not in (".html", ".htm"):
        raise ConfigError(f"{report}: the report is HTML; name it .html.")
    if against is not None and not against.is_file():
        raise DataError(f"{against}: no such file. --against names another scored file.")


def _rows_by_node(result: "ScoreResult", runner: "Runner | None") -> str:
    from rewardkit.runtime.ray_runner import RayRunner

    if not isinstance(runner, RayRunner):
        return ""
    counts = sorted({**runner.rows_by_node, **result.rows_by_node}.items())
    return "rows by node: " + ", ".join(f"{node[:8]} {count:,}" for node, count in counts)


def _check_many(source: Path, *, runner: str, split: str | None, limit: int | None) -> None:
    if runner != "ray":
        raise ConfigError(
            f"{source} is many files: they are scored on a cluster, with --runner ray. Without one "
            "give each file a command of its own."
        )
    if split is not None or limit is not None:
        raise ConfigError(f"{source} is many files: --split and --limit go with one. Leave it away")


def _score_shards(
    verifier: "Verifier",
    source: Path,
    out: Path,
    runner: "Runner | None",
    **options: Any,  # those of score_shards
) -> "ScoreResult":
    from rewardkit.runtime.ray_runner import RayRunner
    from rewardkit.scoring.sharded import score_shards

    assert isinstance(runner, RayRunner)
    return score_shards(verifier, source, out, runner=runner, **options)


def _print_places(out: Path, report: Path | None, *, stopped: bool) -> None:
    if stopped:
        typer.echo(f"Stopped. What is scored is in {out}; the same command goes on from there.")
        return
    typer.echo(f"scored: {out}")
    if report is not None:
        typer.echo(f"report: {report}")
