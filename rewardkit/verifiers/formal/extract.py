"""Which part of a completion is the proof."""

from dataclasses import dataclass

from rewardkit.completion import split_reasoning
from rewardkit.fences import fenced_blocks
from rewardkit.verdict import Reason

__all__ = ["Proof", "extract_proof"]

MAX_CHARS = 400_000


@dataclass(frozen=True, slots=True)
class Proof:
    """The part of a completion that is the proof, or why there is none."""

    text: str | None
    start: int = 0
    """Its place in the completion's text."""
    reason: Reason | None = None
    detail: str = ""


def extract_proof(text: str, tags: tuple[str, ...], target: str) -> Proof:
    r"""Returns the proof that a completion's text commits to.

    What follows the reasoning counts. The last fenced block of the language that names the target
    is the answer; without one, the last block of the language; without a fence, the whole text.

    >>> extract_proof(
    ...     "Try:\n```lean\ntheorem t := a\n```\n```\nt is done\n```", ("lean",), "t"
    ... ).text
    'theorem t := a\n'
    """
    start, closed = split_reasoning(text)
    if not closed:
        return Proof(None, reason=Reason.TRUNCATED, detail="the reasoning never ends")
    blocks = fenced_blocks(text[start:], start)
    if not blocks:
        return _sized(Proof(text[start:], start))
    if not blocks[-1].closed:
        return Proof(None, reason=Reason.TRUNCATED, detail="the last fenced block never ends")
    own = [b for b in blocks if b.tag in tags] or [b for b in blocks if not b.tag]
    if not own:
        return Proof(None, reason=Reason.NO_ANSWER, detail="no block of the language")
    short = target.rpartition(".")[2]
    naming = [b for b in own if short and short in b.text] or own
    return _sized(Proof(naming[-1].text, naming[-1].start))


def _sized(proof: Proof) -> Proof:
    if proof.text is None or not proof.text.strip():
        return Proof(None, reason=Reason.NO_ANSWER, detail="an empty proof")
    if len(proof.text) > MAX_CHARS:
        return Proof(None, reason=Reason.SIZE_LIMIT, detail=f"{len(proof.text)} characters")
    return proof
