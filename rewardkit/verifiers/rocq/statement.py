"""Rocq statements and submissions as text."""

import re
from dataclasses import dataclass

from rewardkit.errors import InvalidReferenceError
from rewardkit.verdict import Json
from rewardkit.verifiers._names import check_keys
from rewardkit.verifiers.formal.scan import ROCQ, read_code

__all__ = ["Statement", "assemble", "find_banned", "read_statement"]

_TARGET = re.compile(
    r"(?<![\w.'])(Theorem|Lemma|Corollary|Proposition|Fact|Remark|Property|Example|Goal)\s+"
    r"([\w']+)"
)
_DECLARED = re.compile(
    r"(?<![\w.'])(?:Definition|Fixpoint|CoFixpoint|Inductive|CoInductive|Variant|Record|Structure|"
    r"Class|Instance|Axiom|Parameter|Conjecture|Function|Theorem|Lemma)\s+([\w']+)"
)
_DECLARES = re.compile(
    r"(?<![\w.'])(?:Theorem|Lemma|Corollary|Proposition|Fact|Remark|Property|Example|Definition|"
    r"Fixpoint|Inductive|Require|Module|Section|Axiom|Notation|Ltac|Import|Variable|Hypothesis|"
    r"Record|Program|Instance|Parameter|Conjecture)\b"
)
_BANNED = re.compile(
    r"(?<![\w.'])(Declare\s+ML|Redirect|Extraction|Recursive\s+Extraction|Separate\s+Extraction|"
    r"Load|Cd|Drop|Add\s+(?:Rec\s+)?(?:LoadPath|ML\s+Path)|Remove\s+LoadPath|Write\s+State|"
    r"Restore\s+State|(?:Unset|Set)\s+(?:Guard|Positivity|Universe)\s+Checking|"
    r"bypass_check|Extract\s+(?:Constant|Inductive)|From\s+\S*\s*Require\s+.*Extraction|"
    r"Set\s+Private\s+Polymorphic|Unset\s+Kernel|Primitive|Register|Profile|Instructions)\b"
)


@dataclass(frozen=True, slots=True)
class Statement:
    """What is to be proved."""

    header: str
    text: str
    """Everything up to and with the target's statement, closed by a point."""
    name: str
    declared: tuple[str, ...]
    """Names that come before the target."""

    @property
    def key(self) -> str:
        """Tells statements apart."""
        return f"{self.header}\0{self.text}\0{self.name}"


def read_statement(reference: Json) -> Statement:
    """Returns a reference as a statement.

    Args:
        reference: the statement's text, or an object with `statement` and perhaps `header`
            (`Require`s) and `name`.

    Raises:
        InvalidReferenceError: it has no statement, or the statement has no theorem.
    """
    fields = {"statement": reference} if isinstance(reference, str) else reference
    if not isinstance(fields, dict) or not isinstance(fields.get("statement"), str):
        raise InvalidReferenceError('a Rocq reference is {"statement": "Theorem t : …."}')
    check_keys("a Rocq reference", fields, ("statement", "header", "name"))
    text, header = str(fields["statement"]), fields.get("header") or ""
    if not isinstance(header, str):
        raise InvalidReferenceError("a Rocq reference's header is a text")
    wanted = fields.get("name")
    bare = read_code(text, ROCQ).bare
    targets = [m for m in _TARGET.finditer(bare) if wanted is None or m[2] == wanted]
    if not targets:
        named = f" {wanted}" if wanted else ""
        raise InvalidReferenceError(
            f"the statement has no theorem{named}: write it as 'Theorem t : ….'"
        )
    target = targets[-1]
    end = re.compile(r"\.(?=\s|$)").search(bare, target.end())
    if end is None:
        raise InvalidReferenceError(f"the statement of {target[2]} has no point at its end")
    return Statement(
        header.strip("\n"),
        text[: end.end()],
        target[2],
        tuple(dict.fromkeys(_DECLARED.findall(bare[: target.start()]))),
    )


def find_banned(submission: str) -> str:
    """Returns the first construct that could get round the check, or an empty string."""
    found = _BANNED.search(read_code(submission, ROCQ).bare)
    return re.sub(r"\s+", " ", found[1]) if found else ""


def assemble(statement: Statement, submission: str) -> str:
    """Returns the file that holds a submission; a proof alone follows its statement."""
    bare = read_code(submission, ROCQ).bare
    if _DECLARES.search(bare) is not None:
        own = set(_DECLARED.findall(bare))
        before = ""
        if statement.declared and not own & set(statement.declared):
            targets = list(_TARGET.finditer(read_code(statement.text, ROCQ).bare))
            before = statement.text[: targets[-1].start()] if targets else ""
        return f"{statement.header}\n{before}{submission}\n"
    proof = submission.strip()
    if not re.match(r"Proof\b", bare.strip()):
        proof = f"Proof.\n{proof}"
    if not re.search(r"(?<![\w.'])(?:Qed|Defined|Admitted|Abort|Save)\b", bare):
        proof = f"{proof}\nQed."
    return f"{statement.header}\n{statement.text}\n{proof}\n"
