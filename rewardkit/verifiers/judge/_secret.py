"""A key, and the one place where the environment is read for it."""

import os

__all__ = ["Secret"]


class Secret:
    """A key that never shows: not in a repr, a pickle, a log or an error.

    Args:
        value: the key itself, or None.
        variable: the environment variable that holds it otherwise, read when it is needed.

    >>> Secret("sk-123", "KEY")
    Secret(***)
    """

    __slots__ = ("_value", "variable")

    def __init__(self, value: str | None, variable: str) -> None:
        self._value = value
        self.variable = variable

    def reveal(self) -> str | None:
        """Returns the key, or None if there is none."""
        return self._value or os.environ.get(self.variable) or None

    def redact(self, text: str) -> str:
        """Returns a text without the key."""
        key = self.reveal()
        return text.replace(key, "***") if key else text

    def __repr__(self) -> str:
        return "Secret(***)"

    def __reduce__(self) -> tuple[type["Secret"], tuple[None, str]]:
        # A copy reads the variable: the key itself does not travel.
        return Secret, (None, self.variable)
