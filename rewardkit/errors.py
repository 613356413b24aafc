"""What rewardkit raises.

    RewardkitError                the caller or the installation is wrong; the text says what to do
    ├── InvalidReferenceError     a reference that cannot be read or does not fit its verifier
    ├── ConfigError               an option outside its allowed values
    ├── DataError                 a data file that cannot be read, or lacks a column
    ├── UndecidedError            a score is missing, and the caller chose to raise then
    ├── EngineMissingError        an optional engine is not installed here
    └── ShadowedPackageError      another distribution's `rewardkit` is installed over this one

Model output never raises: a wrong, hostile, empty or huge completion is a `Verdict`. A failing
engine (a dead worker, a timeout) never raises either: it is a `Verdict` with `score=None`.
"""

from rewardkit._shadow import foreign_package

__all__ = [
    "ConfigError",
    "DataError",
    "EngineMissingError",
    "InvalidReferenceError",
    "RewardkitError",
    "ShadowedPackageError",
    "UndecidedError",
]


class RewardkitError(Exception):
    """The base of every error that rewardkit raises on purpose."""


class InvalidReferenceError(RewardkitError):
    """A reference that cannot be read, or does not have the shape that its verifier documents."""


class ConfigError(RewardkitError, ValueError):
    """An option whose value is outside what its documentation allows."""


class DataError(RewardkitError):
    """A data file that cannot be read, or that lacks a column that was asked for."""


class UndecidedError(RewardkitError):
    """A completion could not be scored, and the policy that the caller chose is to raise."""


class EngineMissingError(RewardkitError, ImportError):
    """An optional engine is not installed; the message holds the command that installs it."""

    def __init__(self, engine: str, install: str) -> None:
        super().__init__(f"not installed here: {engine}. To get it: {install}")
        self.engine = engine
        self.install = install

    def __reduce__(self) -> tuple[type["EngineMissingError"], tuple[str, str]]:
        return type(self), (self.engine, self.install)


class ShadowedPackageError(RewardkitError, ImportError):
    """Another distribution's import package named `rewardkit` has overwritten this one."""


# Every module of ours imports this one: here a foreign `rewardkit/__init__.py` is noticed first.
if (_wrong := foreign_package()) is not None:
    raise ShadowedPackageError(_wrong)
