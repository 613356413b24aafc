"""Tactic skeletons: a schedule of opening tactics for a group of attempts, and what it measures.

Source: Z. Burton, "Inference-Time Diversity in RL-Trained Lean Theorem Provers: A Diagnostic
Study", arXiv 2601.16172. Attempt i of a theorem is given the tactic prefix i mod 15 and the hint
(i div 15) mod 8: a grid of 120 cells whose first hint is none. The hints are worded here.
"""

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from rewardkit.errors import ConfigError
from rewardkit.verifiers.formal.scan import LEAN, read_code

__all__ = [
    "HINTS",
    "SKELETONS",
    "SkeletonAttempt",
    "distinct_heads",
    "first_tactic",
    "opening_entropy",
    "respects_prefix",
    "skeleton_schedule",
]

SKELETONS: tuple[str, ...] = (
    *("", "simp", "intro", "intros", "constructor", "refine ?_", "refine ⟨?_, ?_⟩", "aesop"),
    *("norm_num", "linarith", "nlinarith", "ring", "ring_nf", "simp; try aesop"),
    "simp; try nlinarith",
)
"""The 15 opening tactics; the first is none."""
HINTS: tuple[str, ...] = (
    "",
    "Simplify the goal first.",
    "Split the goal into its parts first.",
    "Argue by cases on the key quantity.",
    "Use induction where a natural number occurs.",
    "State an intermediate fact with `have` first.",
    "Look for a bound or an inequality that closes the goal.",
    "Rewrite both sides to one normal form.",
)
"""The 8 hints on the goal; the first is none."""
_PROOF = re.compile(r":=\s*(by\b)?")
_TACTIC = re.compile(r"[^\s;<]+")


@dataclass(frozen=True, slots=True)
class SkeletonAttempt:
    """What one attempt is given."""

    skeleton: str
    """The opening tactic; empty for none."""
    hint: str

    @property
    def prefix(self) -> str:
        """What a completion model is given after the statement's `:=`."""
        return f" by\n  {self.skeleton}" if self.skeleton else " by\n  "

    @property
    def instruction(self) -> str:
        """What a chat model is told, besides the task."""
        begin = f"Begin the proof with the tactic `{self.skeleton}`." if self.skeleton else ""
        return " ".join(part for part in (begin, self.hint) if part)


def skeleton_schedule(
    attempts: int, skeletons: Sequence[str] = SKELETONS, hints: Sequence[str] = HINTS
) -> list[SkeletonAttempt]:
    """Returns what each attempt is given: skeleton i mod S, hint (i div S) mod H.

    >>> [a.skeleton for a in skeleton_schedule(3)], len(set(skeleton_schedule(120)))
    (['', 'simp', 'intro'], 120)

    Raises:
        ConfigError: a negative number of attempts, no skeleton, or no hint.
    """
    if attempts < 0 or not skeletons or not hints:
        raise ConfigError("a schedule needs attempts >= 0, a skeleton and a hint ('' for none)")
    return [
        SkeletonAttempt(skeletons[i % len(skeletons)], hints[(i // len(skeletons)) % len(hints)])
        for i in range(attempts)
    ]


def first_tactic(proof: str) -> str:
    r"""Returns the head of a proof's first tactic; `term` for a proof without `by`, else "".

    >>> first_tactic("theorem t : a := by\n  -- easy\n  simp [h]\n  ring"), first_tactic("  ring")
    ('simp', 'ring')
    """
    body = _proof_body(proof)
    if body is None:
        return "term"
    found = _TACTIC.search(body.lstrip().lstrip("·.").lstrip())
    return re.split(r"[\[(⟨{,]", found[0])[0] if found else ""


def respects_prefix(proof: str, skeleton: str) -> bool:
    r"""Returns whether a proof begins with the tactic that it was given.

    Spaces do not count. A skeleton that ends in a word must not run on: `ring_nf` is not `ring`.

    >>> respects_prefix(":= by\n  simp ; try  aesop", "simp; try aesop")
    True
    >>> respects_prefix("by ring_nf", "ring")
    False
    """
    if not skeleton.strip():
        return True
    body = _proof_body(proof)
    if body is None:
        return False
    wanted = re.sub(r"\s+", "", skeleton)
    got = re.sub(r"\s+", "", body)
    if not got.startswith(wanted):
        return False
    rest = body.lstrip()
    for character in wanted:
        rest = rest.lstrip().removeprefix(character)
    runs_on = bool(rest) and (rest[0].isalnum() or rest[0] in "_'!?")
    return not (runs_on and wanted[-1].isalnum())


def opening_entropy(proofs: Sequence[str]) -> float:
    """Returns the entropy of a group's first tactics, in nats: 0 if all open alike.

    H = -sum p log p over the heads; the largest value is log of the group's size. A fall over
    training is the sign of a collapsed policy.

    >>> opening_entropy(["by simp", "by simp"]), round(opening_entropy(["by simp", "by ring"]), 3)
    (0.0, 0.693)
    """
    counts = Counter(first_tactic(proof) for proof in proofs)
    total = sum(counts.values())
    return abs(-sum(n / total * math.log(n / total) for n in counts.values())) if total else 0.0


def distinct_heads(proofs: Sequence[str]) -> int:
    """Returns how many different first tactics a group has.

    >>> distinct_heads(["by simp", "by ring", "by ring"])
    2
    """
    return len({first_tactic(proof) for proof in proofs})


def _proof_body(proof: str) -> str | None:
    """Returns what follows `by`; the text itself if it has no `:=`; None for a term."""
    bare = read_code(proof, LEAN).bare
    stripped = bare.lstrip()
    if stripped.startswith("by") and not stripped[2:3].isalnum():
        return stripped[2:]
    if re.match(r"\s*(?:theorem|lemma|example|def)\b", bare) is None and ":=" not in bare[:4]:
        return bare
    depth = 0
    for at, character in enumerate(bare):
        depth += (character in "([{⟨") - (character in ")]}⟩")
        if depth <= 0 and bare.startswith(":=", at):
            found = _PROOF.match(bare, at)
            return bare[found.end() :] if found is not None and found[1] else None
    return None
