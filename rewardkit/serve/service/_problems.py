"""What a service answers when it does not answer: a status, a type, a sentence."""

from collections.abc import Mapping

from rewardkit.errors import InvalidReferenceError, RewardkitError, UndecidedError

__all__ = ["Problem", "problem_of"]


class Problem(Exception):
    """An answer that is no verdict.

    Args:
        status: of HTTP.
        kind: a name for programs.
        message: what to do, for a person.
        headers: of the answer.
    """

    def __init__(
        self, status: int, kind: str, message: str, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(message)
        self.status = status
        self.kind = kind
        self.message = message
        self.headers = dict(headers or {})

    def to_dict(self) -> dict[str, dict[str, str]]:
        """Returns the body of the answer."""
        return {"error": {"type": self.kind, "message": self.message}}


def problem_of(error: RewardkitError) -> Problem:
    """Returns how a caller's mistake is answered."""
    if isinstance(error, InvalidReferenceError):
        return Problem(422, "invalid_reference", str(error))
    if isinstance(error, UndecidedError):
        return Problem(503, "undecided", str(error))
    return Problem(400, "bad_request", str(error))
