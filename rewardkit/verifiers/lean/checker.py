"""The stages of a Lean check: scan, statement, compile, audit, replay."""

import re
import threading
from dataclasses import dataclass, field, replace

from rewardkit.errors import InvalidReferenceError
from rewardkit.verdict import Reason, StepVerdict
from rewardkit.verifiers.formal.outcome import Finding, Outcome
from rewardkit.verifiers.lean import steps as tactic_steps
from rewardkit.verifiers.lean.audit import Module, audit
from rewardkit.verifiers.lean.backends import Backend, Check
from rewardkit.verifiers.lean.ban import find_banned
from rewardkit.verifiers.lean.cached import CachedDataError, TooLargeError, check_cached
from rewardkit.verifiers.lean.messages import Message, classify
from rewardkit.verifiers.lean.olean import OleanError
from rewardkit.verifiers.lean.printed import judge_printed
from rewardkit.verifiers.lean.refusal import LibraryMissingError, refusal
from rewardkit.verifiers.lean.source import (
    Assembled,
    Statement,
    reference_file,
)

__all__ = ["Checker", "LibraryMissingError"]

_OFFICIAL = ("Init", "Std", "Lean", "Lake")
_TRUSTING = re.compile(r"(?<![\w.'])(?:bv_decide|native_decide|decide\s*\+native)(?![\w'])")
_PLAIN_NAME = re.compile(r"[^\W\d][\w'!?]*(?:\.[^\W\d][\w'!?]*)*")
_AXIOMS = re.compile(
    r"^'(.+)' (?:depends on axioms: \[(.*)\]|does not depend on any axioms)$", re.S
)
_MAX_GOAL_CHARS = 2000
_LIMITS = {
    "timeout": Outcome.TIMEOUT,
    "memory": Outcome.MEMORY,
    "output": Outcome.OUTPUT,
    "crash": Outcome.CRASH,
    "refused": Outcome.REPLAY_REFUSED,
}


@dataclass
class Checker:
    """Checks assembled files against statements with one backend."""

    backend: Backend
    tier: str
    allowed: frozenset[str]
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _statements: dict[str, Module | tuple[str, ...]] = field(default_factory=dict)
    _axioms: dict[str, dict[str, frozenset[str]]] = field(default_factory=dict)

    def check(self, statement: Statement, file: Assembled, *, scan: bool = True) -> Finding:
        """Returns what is found out about a proof, its steps graded.

        Args:
            statement: what is to be proved.
            file: the submission under the statement's header.
            scan: refuse by their text the constructs that could get round the check.

        Raises:
            InvalidReferenceError: Lean refuses the statement.
            LostError: the engine broke.
        """
        banned = find_banned(file.code) if scan else ""
        if banned:
            return Finding(Outcome.FORBIDDEN, f"{banned} is not allowed", {"construct": banned})
        if not file.code.closed:
            return Finding(Outcome.SYNTAX, "a comment or string never ends")
        odd = [one for one in file.imports if not _PLAIN_NAME.fullmatch(one)]
        if odd:
            # Lean makes a path of a module's name: «..» leads out of the search path.
            text = f"import {odd[0]}"[:100]
            return Finding(Outcome.FORBIDDEN, f"{text} is not allowed", {"construct": text})
        try:
            return self._check(statement, file)
        except LibraryMissingError as error:
            trusting = _TRUSTING.search(file.code.bare)
            if trusting:
                text = f"{trusting[0]} trusts the compiler, by an axiom outside the allowed ones"
                return Finding(Outcome.BAD_AXIOM, text)
            return Finding(
                Outcome.INFRA_ERROR,
                f"{error}; this Lean has only rewardkit's core library, a small part of Lean's: "
                "install a toolchain, see https://lean-lang.org/install",
                reason=Reason.ENGINE_MISSING,
            )

    def _check(self, statement: Statement, file: Assembled) -> Finding:
        if self.backend.core:
            for module in (*statement.imports, *file.imports):
                if module.split(".")[0] in _OFFICIAL:
                    raise LibraryMissingError(f"import {module}")
        given = self._statement(statement)
        compiles = self.backend.compiles and self.tier != "fast"
        ran = self.backend.check(file.text, fresh=self.tier == "hostile", compiled=compiles)
        errors = _own_errors(ran.messages, file)
        steps = _steps(statement, file, errors)
        finding = self._judge(statement, file, ran, given)
        if finding.outcome is Outcome.PROVED:
            steps = tuple(
                replace(step, score=1.0, reason=Reason.MATCH, detail="") for step in steps
            )
        share = 1.0 if finding.outcome is Outcome.PROVED else 0.0
        if finding.outcome in (
            Outcome.WRONG_PROOF,
            Outcome.UNSOLVED_GOALS,
            Outcome.UNKNOWN_IDENTIFIER,
            Outcome.SORRY,
        ):
            share = tactic_steps.step_share(steps)
        elif share == 0.0:
            steps = ()
        return replace(finding, steps=steps, parts={**finding.parts, "steps": share})

    def _judge(
        self, statement: Statement, file: Assembled, ran: Check, given: Module | tuple[str, ...]
    ) -> Finding:
        if ran.ended != "done":
            return Finding(_LIMITS[ran.ended], ran.detail)
        wrong = classify(list(ran.messages))
        if wrong is not None:
            return refusal(statement, file, *wrong, core=self.backend.core)
        if self.tier == "fast":
            if any(message.says_sorry for message in ran.messages):
                return Finding(Outcome.SORRY, "a declaration uses sorry")
            if not file.body and not re.search(
                rf"(?:theorem|lemma)\s+{re.escape(statement.name)}(?![\w'.])", file.code.bare
            ):
                return Finding(Outcome.TARGET_MISSING, f"no theorem {statement.name}")
            return Finding(Outcome.PROVED, "no error and no hole; nothing was audited")
        if isinstance(given, tuple):
            return judge_printed(self.backend, statement, file, given, self.allowed)
        if not ran.olean:
            return Finding(Outcome.CRASH, "no error, and no compiled file")
        try:
            submission = Module.read(ran.olean)
            check_cached(submission)
            name = _full_name(given, statement)
            imports = (*statement.imports, *file.imports)
            finding = audit(
                given,
                submission,
                name,
                lambda names: self._library_axioms(statement, imports, names),
                self.allowed,
            )
        except TooLargeError as large:
            return Finding(Outcome.OUTPUT, f"the compiled file: {large}")
        except CachedDataError as lie:
            return Finding(Outcome.REPLAY_REFUSED, f"the compiled file was made by hand: {lie}")
        except (OleanError, RecursionError) as error:
            return Finding(Outcome.INFRA_ERROR, f"the compiled file cannot be read: {error}")
        return self._replayed(finding, ran.olean, given)

    def _replayed(self, finding: Finding, olean: bytes, given: Module) -> Finding:
        """Returns what remains of a finding after the kernel has checked the file once more."""
        if finding.outcome is not Outcome.PROVED or not self.backend.replays:
            return finding
        fresh = self.tier == "hostile"
        replay = self.backend.replay(olean, given.file.data, fresh=fresh)
        evidence = {**finding.evidence, "replay": self.backend.replays}
        if replay.ended == "accepted":
            return replace(finding, evidence=evidence)
        said = f"{self.backend.replays}: {replay.detail or replay.ended}"
        evidence["error"] = said[:_MAX_GOAL_CHARS]
        return Finding(_LIMITS[replay.ended], " ".join(said.split())[:300], evidence)

    def _statement(self, statement: Statement) -> Module | tuple[str, ...]:
        with self._lock:
            known = self._statements.get(statement.key)
        if known is not None:
            return known
        text = reference_file(statement)
        compiles = self.backend.compiles
        ran = self.backend.check(text, compiled=compiles)
        wrong = classify(list(ran.messages))
        if wrong is not None or ran.ended != "done":
            what = wrong[1].text.split("\n")[0][:200] if wrong else ran.detail
            if self.backend.core:
                raise LibraryMissingError(f"the statement ({what})")
            raise InvalidReferenceError(f"Lean refuses the statement of {statement.name}: {what}")
        made: Module | tuple[str, ...]
        if compiles:
            made = Module.read(ran.olean)
            _full_name(made, statement)
        else:
            from rewardkit.verifiers.lean.printed import print_statement

            made = print_statement(self.backend, statement)
        with self._lock:
            if len(self._statements) > 512:
                self._statements.clear()
            self._statements[statement.key] = made
        return made

    def _library_axioms(
        self, statement: Statement, imports: tuple[str, ...], names: set[str]
    ) -> dict[str, frozenset[str]]:
        """Returns the axioms of imported constants, asked in a file without the submission."""
        head = "prelude\n" if statement.prelude else ""
        head += "".join(f"import {module}\n" for module in imports)
        with self._lock:
            known = self._axioms.setdefault(head, {})
            ask = [name for name in sorted(names) if name not in known]
        plain = [name for name in ask if _PLAIN_NAME.fullmatch(name)]
        found = {name: frozenset[str]() for name in ask if name not in plain}
        if plain:
            lines = "".join(f"#print axioms {name}\n" for name in plain)
            ran = self.backend.check(head + lines)
            for message in ran.messages:
                read = _AXIOMS.match(message.text) if message.severity == "information" else None
                if read is not None:
                    listed = (read[2] or "").replace("\n", " ").split(",")
                    found[read[1]] = frozenset(one.strip() for one in listed if one.strip())
        with self._lock:
            known.update(found)
            return {name: known[name] for name in names if name in known}


def _full_name(module: Module, statement: Statement) -> str:
    """Returns the target's full name in the compiled statement."""
    short = statement.name.removeprefix("_root_.")
    plain = short.replace("«", "").replace("»", "")
    for wanted in (short, plain):
        if wanted in module.constants:
            return wanted
        nested = [name for name in module.constants if name.endswith(f".{wanted}")]
        if len(nested) == 1:
            return nested[0]
    raise InvalidReferenceError(f"the compiled statement has no theorem {statement.name}")


def _own_errors(messages: tuple[Message, ...], file: Assembled) -> list[tuple[int, Message]]:
    found = []
    for message in messages:
        if message.severity == "error":
            place = file.place(message.line, message.column)
            if place is not None:
                found.append((place - file.shift, message))
    return found


def _steps(
    statement: Statement, file: Assembled, errors: list[tuple[int, Message]]
) -> tuple[StepVerdict, ...]:
    begin = 0
    if not file.body:
        named = re.search(
            rf"(?:theorem|lemma)\s+{re.escape(statement.name)}(?![\w'.])", file.code.bare
        )
        begin = named.end() if named else 0
    found = tactic_steps.split_steps(file.code, begin)
    return tactic_steps.grade_steps(found, file.code, errors, file.shift)
