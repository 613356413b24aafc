"""`rewardkit serve`: a reward over HTTP."""

import contextlib
import signal
import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from rewardkit.cli._console import explain_errors
from rewardkit.cli._options import RayAddress, make_runner
from rewardkit.errors import ConfigError, DataError

__all__ = ["serve"]

_SWITCH_S = 0.0005


@explain_errors
def serve(
    reward: Annotated[
        Path, typer.Argument(metavar="REWARD", help="`.yaml` or `.json`: see docs/serving.md.")
    ],
    host: Annotated[
        str, typer.Option(help="Where to listen. Beyond this machine it needs a token.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="0 for any that is free.")] = 8300,
    token_file: Annotated[
        Path | None, typer.Option(help="A file with the token that callers must send.")
    ] = None,
    runner: Annotated[
        Literal["pool", "inline", "ray"], typer.Option(help="Where rows are graded.")
    ] = "pool",
    workers: Annotated[
        int | None, typer.Option(min=1, help="Worker processes. [default: one per core]")
    ] = None,
    ray_address: RayAddress = None,
    on_missing: Annotated[
        Literal["zero", "raise"] | None,
        typer.Option(help="Adds /openrlhf and /nemo-gym/verify: what a missing score is there."),
    ] = None,
    timeout: Annotated[float, typer.Option(help="Most seconds for a request.")] = 120.0,
    max_requests: Annotated[
        int, typer.Option(help="Requests that are graded or wait; the next one gets 429.")
    ] = 64,
    max_rows: Annotated[int, typer.Option(help="Most completions in a request.")] = 4096,
    max_body_mb: Annotated[float, typer.Option(help="Most MiB of a request.")] = 16.0,
    drain: Annotated[float, typer.Option(help="Seconds that requests have after SIGTERM.")] = 60.0,
) -> None:
    """Serve a reward over HTTP, for trainers in any language.

    Listens on this machine only, unless told otherwise. SIGTERM and Ctrl-C let running requests
    end.

    **Example**: `rewardkit serve reward.yaml --port 8300`

    **Exit codes**: 0 ended; 2 something must be corrected first.
    """
    from rewardkit.engines import require_extra

    require_extra("serve")
    from rewardkit.reward_file import read_reward
    from rewardkit.serve import service

    limits = service.ServiceLimits(
        timeout_s=timeout,
        max_requests=max_requests,
        max_rows=max_rows,
        max_body_bytes=round(max_body_mb * 2**20),
        drain_s=drain,
    )
    token = None if token_file is None else _read_token(token_file)
    made = make_runner(runner, workers=workers, ray_address=ray_address)
    with (
        read_reward(reward) as scored,
        service.listen(host, port, token=token) as listener,
        made,
    ):
        app = service.make_service(
            scored, runner=made, token=token, limits=limits, on_missing=on_missing
        )
        place = listener.getsockname()
        shown = f"[{place[0]}]" if ":" in place[0] else place[0]
        typer.echo(f"serving {', '.join(scored.components)} at http://{shown}:{place[1]}")
        # The server raises its signal again when it has ended: that must not end this process
        # before its workers are.
        signal.signal(signal.SIGTERM, lambda *_: None)
        # A thread that reads a large body keeps the others waiting for so long at a time.
        sys.setswitchinterval(_SWITCH_S)
        with contextlib.suppress(KeyboardInterrupt):
            service.serve(app, listener, limits=limits)


def _read_token(path: Path) -> str:
    try:
        token = path.read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path}: {getattr(error, 'strerror', None) or error}") from None
    if len(token) < 16 or not token.isascii() or not token.isprintable() or " " in token:
        raise ConfigError(
            f"{path}: a token has at least 16 characters of ASCII without spaces, as in "
            "openssl rand -hex 32"
        )
    return token
