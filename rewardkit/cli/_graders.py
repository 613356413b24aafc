"""What grades in `rewardkit score`: a verifier by name, or a reward."""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rewardkit.cli._options import build_verifier, read_options, verifier_config
from rewardkit.errors import ConfigError

if TYPE_CHECKING:
    from rewardkit.runtime import WorkerPool
    from rewardkit.scoring import RewardVerifier
    from rewardkit.verdict import Json
    from rewardkit.verifier import Verifier

__all__ = ["Grader", "choose_grader"]


@dataclass(frozen=True, slots=True)
class Grader:
    """What grades: a verifier by name, or a reward."""

    make: "Callable[[], Verifier]"
    config: "Mapping[str, Json]"
    """What decides the verdicts."""
    reference: str
    """The column with the references, unless the caller names another."""
    pool: "WorkerPool | None"


def choose_grader(
    reward: str | None,
    verifier: str | None,
    mode: str | None,
    option: "list[str] | None",
    workers: int | None,
) -> Grader:
    """Returns what the options of `rewardkit score` name.

    Raises:
        ConfigError: an option is wrong, or belongs to a verifier where a reward is given.
        DataError: the reward's file cannot be read.
    """
    if reward is None:
        name = verifier or "math"
        options = read_options(name, mode, option)
        pool = _choose_workers(name, options, workers)
        config = verifier_config(name, options)
        return Grader(lambda: build_verifier(name, options), config, "reference", pool)
    for given, flag in ((verifier, "--verifier"), (mode, "--mode"), (option, "--option")):
        if given:
            raise ConfigError(f"{flag} says how a verifier grades, and --reward names a reward: "
                              "put it into the reward, or leave --reward away.")  # fmt: skip
    from rewardkit._version import __version__
    from rewardkit.runtime import WorkerPool

    made = _reward_verifier(reward)
    config = {"rewardkit": __version__, "reward": reward, "reward file": _digest(reward)}
    pool = None if workers is None else WorkerPool(workers=workers)
    return Grader(lambda: made, config, made.reference, pool)


def _reward_verifier(source: str) -> "RewardVerifier":
    from rewardkit.reward_file import load_reward
    from rewardkit.scoring import RewardVerifier

    place, colon, name = source.rpartition(":")
    # A worker may run in another folder.
    found = f"{Path(place).resolve()}:{name}" if colon and place.endswith(".py") else source
    if not colon:
        found = str(Path(source).resolve())
    return RewardVerifier(load_reward(source), source=found)


def _digest(source: str) -> str | None:
    """Returns what tells one text of a reward's file from another; None for a module."""
    place = source.rpartition(":")[0]
    file = Path(place if place.endswith(".py") else source)
    return hashlib.sha256(file.read_bytes()).hexdigest()[:16] if file.is_file() else None


def _choose_workers(
    name: str, options: dict[str, object], workers: int | None
) -> "WorkerPool | None":
    """Gives the number to a verifier that has such an option; for another, makes a pool."""
    from rewardkit.runtime import WorkerPool
    from rewardkit.verifiers.catalog import list_options

    if workers is None:
        return None
    if any(option.name == "workers" for option in list_options(name)):
        options.setdefault("workers", workers)
        return None
    return WorkerPool(workers=workers)
