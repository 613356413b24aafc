"""The verifier of Rocq (Coq) proofs."""

import os
import re
import shutil
import threading
from dataclasses import dataclass
from typing import Literal

from rewardkit.errors import ConfigError, EngineMissingError, InvalidReferenceError
from rewardkit.verdict import Json, Verdict
from rewardkit.verifiers._pickled import PickledSettings
from rewardkit.verifiers.formal.base import FormalVerifier
from rewardkit.verifiers.formal.extract import extract_proof
from rewardkit.verifiers.formal.outcome import Finding, Outcome
from rewardkit.verifiers.formal.tool import LostError, Ran, Tool
from rewardkit.verifiers.rocq.printed import rename_bound
from rewardkit.verifiers.rocq.statement import Statement, assemble, find_banned, read_statement

__all__ = ["RocqVerifier"]

_TAGS = ("coq", "rocq", "gallina", "v")
_MODULE = "RewardkitTarget"
_CONFIGURATION = ("/etc/ocamlfind.conf", "/etc/ocamlfind.conf.d")
_CLOSED = "Closed under the global context"
_PLACE = re.compile(r'^File "[^"]*", line (\d+), characters (\d+)-(\d+):$', re.MULTILINE)
_ERROR = re.compile(r"^Error:\s*(.*)", re.MULTILINE | re.DOTALL)
_AXIOM = re.compile(r"^([^\s:]+)(?=\s*(?::|\s+is |$))", re.MULTILINE)
_LISTED = re.compile(
    r"(?<![\w.'])(Definition|Parameter|Variant|Inductive|CoInductive|Record|Module)\s+(?!Type\b)([\w']+)"
)
_MAX_DEPTH = 8
_KINDS = (
    (Outcome.SYNTAX, r"Syntax error|Lexer|Unterminated|Illegal begin of"),
    (
        Outcome.UNKNOWN_IDENTIFIER,
        r"was not found|Cannot find|Unable to locate|No such (?!assumption)|Unknown|not a defined",
    ),
    (Outcome.UNSOLVED_GOALS, r"incomplete proof|pending proofs|remaining goal|unfocused|unsolved"),
    (Outcome.TIMEOUT, r"Timeout"),
    (Outcome.MEMORY, r"[Oo]ut of memory|[Ss]tack overflow"),
)


@dataclass(frozen=True, slots=True)
class _Given:
    """A statement, as Rocq prints it."""

    text: str
    names: tuple[str, ...]
    """What it defines besides the target."""


class RocqVerifier(PickledSettings, FormalVerifier):
    """Checks the Rocq proof in a completion, and that it proves what was asked.

    The compiled file is audited in a second process: `Check` under `Set Printing All` against the
    reference's, `Print` for each definition before it, and `Print Assumptions`. See
    docs/verifiers/rocq.md.
    """

    name = "rocq"

    def __init__(
        self,
        *,
        tier: Literal["standard", "hostile"] = "standard",
        axioms: tuple[str, ...] = (),
        timeout_s: float = 30.0,
        memory_bytes: int = 2 << 30,
        cache: int = 4096,
        isolation: str = "auto",
        workers: int | None = None,
    ) -> None:
        """Finds `coqc`; starts nothing.

        Args:
            tier: `standard`, or `hostile`, which runs `coqchk` on the compiled file as well.
            axioms: what a proof may rest on, by short or full name; none by default.
            timeout_s: processor seconds of each command.
            memory_bytes: memory of a check.
            cache: verdicts that are remembered.
            isolation: the sandbox's tier, see `rewardkit.sandbox.Sandbox`.
            workers: proofs that `verify_batch` checks at one time; by default the processors.

        Raises:
            ConfigError: an option outside its range; it is named.
            EngineMissingError: Rocq is not installed.
        """
        if tier not in ("standard", "hostile"):
            raise ConfigError(f"tier is 'standard' or 'hostile', not {tier!r}")
        program = shutil.which("coqc")
        if program is None:
            raise EngineMissingError("coqc", "apt-get install coq")
        self._prepare(cache=cache, workers=workers)
        self.tier = tier
        self.axioms = tuple(axioms)
        self.program = program
        self.checker = shutil.which("coqchk") or ""
        self.tool = Tool(
            timeout_s=timeout_s,
            memory_bytes=memory_bytes,
            binds=tuple(path for path in _CONFIGURATION if os.path.exists(path)),
            isolation=isolation,
        )
        self._reset()

    def close(self) -> None:
        """Ends the fork server. The verifier may be used again afterwards."""
        self.tool.close()

    def check_reference(self, reference: Json, /) -> list[str]:
        """Returns no warnings; Rocq reads the statement.

        Raises:
            InvalidReferenceError: it cannot be read, or Rocq refuses it.
        """
        self._printed(read_statement(reference))
        return []

    def _key(self, text: str, reference: Json) -> tuple[str, ...]:
        return (self.program, read_statement(reference).key, text)

    def _grade(self, text: str, reference: Json) -> Verdict:
        statement = read_statement(reference)
        proof = extract_proof(text, _TAGS, statement.name)
        if proof.text is None:
            finding = Finding(Outcome.NO_PROOF, proof.detail, reason=proof.reason)
            return finding.verdict(None, "extraction", 0.0)
        try:
            finding = self._check(statement, proof.text)
        except LostError as error:
            finding = Finding(Outcome.INFRA_ERROR, f"the engine broke: {error}"[:300])
        return finding.verdict(proof.text, self.tier, 0.0)

    def _check(self, statement: Statement, proof: str) -> Finding:
        banned = find_banned(proof)
        if banned:
            return Finding(Outcome.FORBIDDEN, f"{banned} is not allowed", {"construct": banned})
        given = self._printed(statement)
        file, replay = assemble(statement, proof), self.tier == "hostile"
        ran = self._run(file, _questions(statement, given.names), replay=replay)
        if isinstance(ran, Finding):
            return ran
        if ran[0].code != 0:
            return _refused(ran[0])
        if len(ran) < 2 or ran[1].code != 0:
            missing = ran[1].stderr if len(ran) > 1 else ""
            if re.search(rf"{_MODULE}\.{re.escape(statement.name)}(?![\w'.])", missing):
                return Finding(Outcome.TARGET_MISSING, f"no {statement.name} in the compiled file")
            return Finding(Outcome.STATEMENT_CHANGED, "a definition before the target is missing")
        if self.tier == "hostile" and (len(ran) < 3 or ran[2].code != 0):
            return Finding(Outcome.WRONG_PROOF, "coqchk refuses the compiled file")
        return self._judge(given.text, ran[1].stdout, statement.name)

    def _judge(self, given: str, printed: str, target: str) -> Finding:
        shown, _, assumptions = printed.rpartition(_mark("assumptions"))
        if not shown or rename_bound(shown) != rename_bound(
            given.rpartition(_mark("assumptions"))[0]
        ):
            return Finding(
                Outcome.STATEMENT_CHANGED, "the statement or a definition before it differs"
            )
        if _CLOSED in assumptions:
            return Finding(Outcome.PROVED, "proved", {"axioms": []})
        allowed = {*self.axioms, *_names(given.rpartition(_mark("assumptions"))[2])}
        names = _names(assumptions)
        bad = [n for n in names if n not in allowed and n.rpartition(".")[2] not in allowed]
        if any(name == f"{_MODULE}.{target}" for name in bad):
            return Finding(Outcome.SORRY, "the target is admitted", {"axioms": [*bad]})
        if not names or bad:
            return Finding(
                Outcome.BAD_AXIOM, "rests on " + ", ".join(bad or ["?"])[:200], {"axioms": [*bad]}
            )
        return Finding(Outcome.PROVED, "proved", {"axioms": [*names]})

    def _printed(self, statement: Statement) -> _Given:
        with self._lock:
            known = self._statements.get(statement.key)
        if known is not None:
            return known
        file = f"{statement.header}\n{statement.text}\nAdmitted.\n"
        names = self._list(statement, file)
        printed = self._ask(statement, file, _questions(statement, names))
        # The target itself is a hole here; the axioms that the statement declares stay allowed.
        shown, mark, assumptions = printed.rpartition(_mark("assumptions"))
        kept = "\n".join(n for n in _names(assumptions) if n.rpartition(".")[2] != statement.name)
        made = _Given(shown + mark + kept, names)
        with self._lock:
            self._statements[statement.key] = made
        return made

    def _list(self, statement: Statement, file: str) -> tuple[str, ...]:
        """Returns what the statement defines, as Rocq lists it: a name may be Rocq's own."""
        found: list[str] = []
        modules = [_MODULE]
        for _ in range(_MAX_DEPTH):
            if not modules:
                break
            printed = self._ask(statement, file, [f"Print Module {one}." for one in modules])
            inner: list[str] = []
            texts = re.split(r"^Module ", printed, flags=re.MULTILINE)[1:]
            if len(texts) != len(modules):
                raise InvalidReferenceError(f"Rocq lists no definitions for {statement.name}")
            for module, text in zip(modules, texts, strict=True):
                for kind, name in _LISTED.findall(text):
                    (inner if kind == "Module" else found).append(f"{module}.{name}")
            modules = inner
        return tuple(name for name in found if name != f"{_MODULE}.{statement.name}")

    def _ask(self, statement: Statement, file: str, questions: list[str]) -> str:
        """Returns what Rocq prints about the compiled statement.

        Raises:
            InvalidReferenceError: it refuses the statement.
        """
        ran = self._run(file, questions)
        if isinstance(ran, Finding) or ran[-1].code != 0 or len(ran) < 2:
            why = ran.detail if isinstance(ran, Finding) else _refused(ran[-1]).detail
            raise InvalidReferenceError(f"Rocq refuses the statement of {statement.name}: {why}")
        return ran[1].stdout

    def _run(self, text: str, questions: list[str], *, replay: bool = False) -> list[Ran] | Finding:
        lines = [f"Require {_MODULE}.", "Set Printing All.", "Set Printing Width 100000."]
        files = {f"{_MODULE}.v": text, "Audit.v": "\n".join([*lines, *questions, ""])}
        compiler = [self.program, "-q", "-w", "none", "-R", ".", ""]
        commands = [[*compiler, f"{_MODULE}.v"], [*compiler, "Audit.v"]]
        if replay and self.checker:
            commands.append([self.checker, "-silent", "-R", ".", "", _MODULE])
        return self.tool.run(files, commands)

    def _reset(self) -> None:
        self._lock = threading.Lock()
        self._statements: dict[str, _Given] = {}


def _questions(statement: Statement, names: tuple[str, ...]) -> list[str]:
    """Returns the commands that print all that a proof has to leave as the statement has it."""
    return [
        *(f"Print {name}." for name in names),
        f"Check {_MODULE}.{statement.name}.",
        f'Goal True. idtac "{_mark("assumptions")}". Abort.',
        f"Print Assumptions {_MODULE}.{statement.name}.",
    ]


def _mark(what: str) -> str:
    return f"rewardkit-{what}"


def _names(assumptions: str) -> list[str]:
    text = assumptions.replace("Axioms:", "").strip()
    return [name for name in _AXIOM.findall(text) if name]


def _refused(ran: Ran) -> Finding:
    if ran.limit is not None:
        return Finding(ran.limit, "the processor limit")
    if ran.code < 0:
        return Finding(Outcome.CRASH, f"signal {-ran.code}")
    found = _ERROR.search(ran.stderr)
    message = found[1].strip() if found else ran.stderr.strip()[-300:]
    place = _PLACE.search(ran.stderr)
    evidence: dict[str, Json] = {"error": message[:2000]}
    if place is not None:
        evidence["line"] = int(place[1])
    for outcome, pattern in _KINDS:
        if re.search(pattern, message):
            return Finding(outcome, message.split("\n")[0][:200], evidence)
    return Finding(Outcome.WRONG_PROOF, message.split("\n")[0][:200], evidence)
