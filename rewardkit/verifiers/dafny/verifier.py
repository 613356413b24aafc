"""The verifier of Dafny programs."""

import os
import re
import shutil

from rewardkit.errors import EngineMissingError, InvalidReferenceError
from rewardkit.verdict import Json, Verdict
from rewardkit.verifiers._names import check_keys
from rewardkit.verifiers.dafny.spec import compare, find_banned, read_declarations
from rewardkit.verifiers.formal.base import FormalVerifier
from rewardkit.verifiers.formal.extract import extract_proof
from rewardkit.verifiers.formal.outcome import Finding, Outcome
from rewardkit.verifiers.formal.scan import DAFNY, read_code
from rewardkit.verifiers.formal.tool import LostError, Ran, Tool

__all__ = ["DafnyVerifier"]

_TAGS = ("dafny", "dfy")
_SUMMARY = re.compile(
    r"program verifier (?:finished with|did not attempt).*?(\d+) verified, (\d+) error"
)
_ERROR = re.compile(r"\((\d+),(\d+)\): (?:Error|Error BP\d+)[^:]*:?\s*(.*)")
_PARSE = re.compile(r"(\d+) (?:parse|resolution/type) errors? detected in")
_NO_BODY = re.compile(r"has no body|no body|Warning: .*assum", re.IGNORECASE)
_CONFIGURATION = ("/etc/mono",)


class DafnyVerifier(FormalVerifier):
    """Checks the Dafny program in a completion, and that its specification is the given one.

    Whatever text can decide is decided without the tool: a changed specification, a missing body,
    an assumption. Then Dafny has to verify it without an error. See docs/verifiers/dafny.md.
    """

    name = "dafny"

    def __init__(
        self,
        *,
        timeout_s: float = 30.0,
        memory_bytes: int = 2 << 30,
        cache: int = 4096,
        isolation: str = "auto",
        workers: int | None = None,
    ) -> None:
        """Finds `dafny`; starts nothing.

        Args:
            timeout_s: processor seconds of a program.
            memory_bytes: memory of a check.
            cache: verdicts that are remembered.
            isolation: the sandbox's tier, see `rewardkit.sandbox.Sandbox`.
            workers: programs that `verify_batch` checks at one time; by default the processors.

        Raises:
            ConfigError: an option outside its range; it is named.
            EngineMissingError: Dafny is not installed.
        """
        program = shutil.which("dafny")
        if program is None:
            raise EngineMissingError(
                "dafny", "apt-get install dafny, or dotnet tool install --global dafny"
            )
        self._prepare(cache=cache, workers=workers)
        self.program = program
        self.tool = Tool(
            timeout_s=timeout_s,
            memory_bytes=memory_bytes,
            binds=tuple(path for path in _CONFIGURATION if os.path.exists(path)),
            isolation=isolation,
        )

    def close(self) -> None:
        """Ends the fork server. The verifier may be used again afterwards."""
        self.tool.close()

    def check_reference(self, reference: Json, /) -> list[str]:
        """Returns warnings: a target without `ensures` says nothing.

        Raises:
            InvalidReferenceError: it cannot be read.
        """
        warnings = []
        for one in read_declarations(_statement(reference)):
            open_spec = one.callable and one.body is None and not one.clauses("ensures")
            if open_spec:
                warnings.append(f"{one.kind} {one.name} has no ensures: any body passes")
        return warnings

    def run(self, program: str) -> Finding:
        """Returns what Dafny says about a program by itself; the specification is not looked at.

        Raises:
            LostError: the sandbox was lost again and again.
        """
        ran = self.tool.run(
            {"program.dfy": program},
            [[self.program, "/nologo", "/compile:0", "/autoTriggers:1", "program.dfy"]],
        )
        return ran if isinstance(ran, Finding) else _judge(ran[0])

    def _key(self, text: str, reference: Json) -> tuple[str, ...]:
        return (self.program, _statement(reference), text)

    def _grade(self, text: str, reference: Json) -> Verdict:
        statement = _statement(reference)
        wanted = read_declarations(statement)
        if not wanted:
            raise InvalidReferenceError("a Dafny statement declares a method, function or lemma")
        proof = extract_proof(text, _TAGS, wanted[-1].name)
        if proof.text is None:
            finding = Finding(Outcome.NO_PROOF, proof.detail, reason=proof.reason)
            return finding.verdict(None, "extraction", 0.0)
        try:
            finding = self._check(statement, proof.text)
        except LostError as error:
            finding = Finding(Outcome.INFRA_ERROR, f"the engine broke: {error}"[:300])
        return finding.verdict(proof.text, "standard", 0.0)

    def _check(self, statement: str, program: str) -> Finding:
        if not read_code(program, DAFNY).closed:
            return Finding(Outcome.SYNTAX, "a comment or string never ends")
        banned = find_banned(program, statement)
        if banned:
            return Finding(Outcome.FORBIDDEN, f"{banned} is not allowed", {"construct": banned})
        difference = compare(statement, program)
        if difference is not None:
            outcome = Outcome.TARGET_MISSING if difference.missing else Outcome.STATEMENT_CHANGED
            return Finding(outcome, difference.text)
        return self.run(program)


def _statement(reference: Json) -> str:
    if isinstance(reference, dict):
        check_keys("a Dafny reference", reference, ("statement",))
    text = reference.get("statement") if isinstance(reference, dict) else reference
    if not isinstance(text, str) or not text.strip():
        raise InvalidReferenceError('a Dafny reference is {"statement": "method M() ensures …"}')
    return text


def _judge(ran: Ran) -> Finding:
    if ran.limit is not None:
        return Finding(ran.limit, "the processor limit")
    output = f"{ran.stdout}\n{ran.stderr}"
    if re.search(r"out of memory|OutOfMemory|ENOMEM", output, re.IGNORECASE):
        return Finding(Outcome.MEMORY, "out of memory")
    summary = _SUMMARY.search(output)
    errors = _ERROR.findall(output)
    evidence: dict[str, Json] = {"errors": [message.strip()[:300] for _, _, message in errors[:20]]}
    if summary is None:
        parse = _PARSE.search(output)
        if parse is None:
            if ran.code < 0 or "Unhandled Exception" in output:
                return Finding(Outcome.CRASH, output.strip()[-200:])
            return Finding(Outcome.INFRA_ERROR, f"no summary: {output.strip()[-200:]}")
        unknown = any("unresolved identifier" in m or "undeclared" in m for _, _, m in errors)
        kind = Outcome.UNKNOWN_IDENTIFIER if unknown else Outcome.SYNTAX
        return Finding(kind, errors[0][2] if errors else parse[0], evidence)
    verified, wrong = int(summary[1]), int(summary[2])
    if re.search(r"\d+ time ?outs?\b", output):
        return Finding(Outcome.TIMEOUT, "the solver's limit")
    if ran.code != 0 or wrong or "inconclusive" in output:
        text = errors[0][2] if errors else f"{wrong} errors"
        return Finding(Outcome.WRONG_PROOF, text, evidence)
    if _NO_BODY.search(output):
        return Finding(Outcome.FORBIDDEN, "a loop or forall without a body is an assumption")
    if verified < 1:
        return Finding(Outcome.TARGET_MISSING, "nothing was verified")
    return Finding(Outcome.PROVED, f"{verified} verified", {"verified": verified})
