"""How strong a Dafny specification is, against a reference: the spec rewards of Re:Form.

Source: "Re:Form: Reducing Human Priors in Scalable Formal Software Verification with RL in LLMs",
arXiv 2507.16331: besides verification, a model that writes specifications is paid for the share of
reference clauses that its own imply, and for a specification that is at least as strong.
"""

from dataclasses import dataclass

from rewardkit.errors import InvalidReferenceError
from rewardkit.verifiers.dafny.spec import Declaration, read_declarations
from rewardkit.verifiers.dafny.verifier import DafnyVerifier
from rewardkit.verifiers.formal.outcome import Outcome

__all__ = ["Strength", "specification_strength"]


@dataclass(frozen=True, slots=True)
class Strength:
    """What a specification promises, measured against a reference's."""

    subset: float
    """Share of the reference's `ensures` that stand in the specification word for word, in
    [0, 1]."""
    implied: float
    """Share of the reference's `ensures` that follow from the specification, in [0, 1]."""
    at_least_as_strong: bool
    """Everything that the reference promises follows, and it asks for nothing more."""
    vacuous: bool
    """A clause that says nothing: `ensures true`, or both sides of `==` alike."""


def specification_strength(
    verifier: DafnyVerifier, reference: str, program: str, name: str
) -> Strength:
    """Returns how strong the specification of a method in a program is.

    For each clause R of the reference a lemma is verified: its parameters are those of the method
    with the results, it requires the method's own clauses, and ensures R.

    Args:
        verifier: runs Dafny.
        reference: a program with the method and its right specification.
        program: the model's.
        name: the method's name in both.

    Raises:
        InvalidReferenceError: the method is not in the reference, or has no `ensures` there.
        LostError: the sandbox was lost again and again.
    """
    given = _find(reference, name)
    mine = _find(program, name)
    if given is None or not given.clauses("ensures"):
        raise InvalidReferenceError(f"the reference has no {name} with an ensures clause")
    if mine is None:
        return Strength(0.0, 0.0, False, False)
    wanted = given.clauses("ensures")
    have = mine.clauses("ensures")
    vacuous = any(_is_vacuous(clause) for clause in have)
    if _parameters(given) != _parameters(mine):
        return Strength(0.0, 0.0, False, vacuous)
    subset = sum(clause in have for clause in wanted) / len(wanted)
    others = "\n".join(
        " ".join((*one.head, *(one.body or ())))
        for one in read_declarations(program)
        if one.kind in ("function", "predicate", "datatype", "type", "const")
    )
    assumed = [*given.clauses("requires"), *have]
    implied = sum(
        clause in have or _follows(verifier, others, given, assumed, clause) for clause in wanted
    )
    asks = all(
        clause in given.clauses("requires")
        or _follows(verifier, others, given, given.clauses("requires"), clause)
        for clause in mine.clauses("requires")
    )
    share = implied / len(wanted)
    return Strength(subset, share, share == 1.0 and asks, vacuous)


def _find(program: str, name: str) -> Declaration | None:
    return next((one for one in read_declarations(program) if one.name == name), None)


def _parameters(declaration: Declaration) -> tuple[str, ...]:
    head = declaration.head
    stop = next(
        (i for i, t in enumerate(head) if t in ("requires", "ensures", "modifies", "decreases")),
        len(head),
    )
    return head[:stop]


def _formals(declaration: Declaration) -> str:
    """Returns the parameters and results of a method as one list."""
    groups, depth, start = [], 0, 0
    head = _parameters(declaration)
    for at, token in enumerate(head):
        if token == "(":
            start = at + 1 if depth == 0 else start
            depth += 1
        elif token == ")":
            depth -= 1
            if depth == 0:
                groups.append(" ".join(head[start:at]))
    return ", ".join(group for group in groups if group)


def _follows(
    verifier: DafnyVerifier,
    others: str,
    method: Declaration,
    assumed: list[tuple[str, ...]],
    clause: tuple[str, ...],
) -> bool:
    requires = "".join(f"  requires {' '.join(one)}\n" for one in assumed)
    lemma = (
        f"{others}\nlemma RewardkitFollows({_formals(method)})\n{requires}"
        f"  ensures {' '.join(clause)}\n{{ }}\n"
    )
    return verifier.run(lemma).outcome is Outcome.PROVED


def _is_vacuous(clause: tuple[str, ...]) -> bool:
    if clause == ("true",):
        return True
    if clause.count("==") == 1:
        at = clause.index("==")
        return clause[:at] == clause[at + 1 :]
    return False
