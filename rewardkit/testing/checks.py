"""`check_reward`: one call in a test, which fails with what the audit found."""

import os
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from rewardkit.audit.traits import Traits

__all__ = ["check_reward"]


def check_reward(
    reward: Any,
    *,
    kind: str = "auto",
    reference_column: str | None = None,
    traits: "Traits | None" = None,
    fail_on: Literal["contract", "declared", "measured"] = "contract",
    profile: Literal["smoke", "fast", "deep"] = "fast",
    database: str | os.PathLike[str] | None = None,
) -> None:
    """Fails if the reward has a fault of this level or a heavier one.

    Args:
        reward: a function or an object at the top of an importable module or file, or its name as
            `file.py:function` or `package.module:object`.
        kind: `auto`, `math`, `choice`, `text`, `code`, `sql`, `prolog` or `format`.
        reference_column: the argument that takes the references, where its name does not say so.
        traits: what the reward claims; see `Traits`.
        fail_on: the lightest level that fails.
        profile: `fast` for every run, `deep` for a nightly one; `smoke` is a part of `fast`.
        database: a folder that keeps failing cases, which are tried first; see `audit_reward`.

    Raises:
        AssertionError: something was found; the text lists it with the smallest inputs.
        ConfigError: the reward cannot be loaded or called.
    """
    from rewardkit.audit import Level, audit_reward, render_text

    __tracebackhide__ = True
    report = audit_reward(
        reward,
        kind=kind,
        reference_column=reference_column,
        traits=traits,
        profile=profile,
        database=database,
    )
    bad = [f for f in report.findings if f.level.rank <= Level(fail_on).rank]
    if bad:
        raise AssertionError(render_text(report, only=bad))
