"""`rewardkit label`: a local page on which people judge scored rows."""

import contextlib
import secrets
import socket
from pathlib import Path
from typing import Annotated
from urllib.parse import quote

import typer

from rewardkit.cli._console import explain_errors
from rewardkit.cli._options import CompletionColumn, ReferenceColumn
from rewardkit.errors import ConfigError

__all__ = ["label"]


@explain_errors
def label(
    scored: Annotated[
        Path, typer.Argument(metavar="SCORED", help="A file that `rewardkit score` wrote.")
    ],
    labels: Annotated[
        Path | None, typer.Option(help="Where labels go. [default: SCORED.labels.jsonl]")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="What the page exports. [default: noise.json beside SCORED]")
    ] = None,
    annotator: Annotated[
        list[str] | None, typer.Option(help="Who judges; repeatable, an address for each.")
    ] = None,
    by: Annotated[
        list[str] | None,
        typer.Option("--by", metavar="COLUMN", help="Export rates by this column too; repeatable."),
    ] = None,
    half_width: Annotated[
        float, typer.Option(help="The wanted half-width of both intervals.")
    ] = 0.02,
    confidence: Annotated[float, typer.Option(help="Of the intervals, in (0, 1).")] = 0.95,
    overlap: Annotated[
        float, typer.Option(help="Share of a further person's rows that another has judged.")
    ] = 0.25,
    accept_at: Annotated[
        float, typer.Option(help="The smallest score that counts as accepted.")
    ] = 1.0,
    completion_column: CompletionColumn = "completion",
    reference_column: ReferenceColumn = "reference",
    seed: Annotated[int, typer.Option(help="Of the order in which rows come.")] = 0,
    port: Annotated[int, typer.Option(help="On 127.0.0.1; 0 for any that is free.")] = 0,
) -> None:
    """Open a local page on which people judge scored rows, to measure the verifier's errors.

    Rows come by the sampling plan, and the verdict is hidden until the label is given. Every label
    is on the disk before the next row shows. Ctrl-C ends; the same command goes on.

    **Example**: `rewardkit label scored.jsonl --annotator ada --annotator ben --by source`

    **Exit codes**: 0 ended; 2 something must be corrected first.
    """
    from rewardkit.engines import require_extra

    require_extra("serve")
    import uvicorn

    from rewardkit.labels import LabelJournal, read_scored_rows
    from rewardkit.serve import LabelDesk, read_contents
    from rewardkit.serve._app import make_app

    rows = read_scored_rows(scored, by=by or (), accept_at=accept_at)
    contents = read_contents(
        scored,
        completion_column=completion_column,
        reference_column=reference_column,
        accept_at=accept_at,
        seed=seed,
    )
    journal_path = labels or scored.with_name(f"{scored.name}.labels.jsonl")
    with LabelJournal(journal_path) as journal, _listen(port) as listener:
        desk = LabelDesk(
            rows,
            contents,
            journal,
            half_width=half_width,
            confidence=confidence,
            overlap=overlap,
        )
        token = secrets.token_urlsafe(16)
        app = make_app(
            desk,
            token=token,
            title=scored.name,
            out=out or scored.with_name("noise.json"),
            stratified_by=tuple(by or ()),
        )
        place = f"http://127.0.0.1:{listener.getsockname()[1]}/{token}/"
        for name in annotator or ["a"]:
            typer.echo(f"open: {place}?as={quote(name)}")
        typer.echo(f"labels: {journal_path}  (Ctrl-C ends)")
        config = uvicorn.Config(app, log_level="warning", access_log=False, lifespan="off")
        # The server ends in good order at Ctrl-C, and raises it again when it has.
        with contextlib.suppress(KeyboardInterrupt):
            uvicorn.Server(config).run(sockets=[listener])


def _listen(port: int) -> socket.socket:
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(("127.0.0.1", port))
    except (OSError, OverflowError) as error:
        listener.close()
        raise ConfigError(f"port {port} cannot be used: {error}. Leave --port away.") from None
    return listener
