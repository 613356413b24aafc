"""Compares a compiled submission with the compiled statement, and lists the axioms it rests on."""

import hashlib
import re
import struct
from collections.abc import Callable
from dataclasses import dataclass, field

from rewardkit.verifiers.formal.outcome import Finding, Outcome
from rewardkit.verifiers.lean.olean import Constant, Olean, OleanError, read_olean

__all__ = ["ALLOWED", "Module", "audit", "children"]

ALLOWED = frozenset({"propext", "Classical.choice", "Quot.sound"})
"""The axioms of ordinary mathematics in Lean."""
_BVAR, _SORT, _CONST, _LIT, _PROJ = 0, 3, 4, 9, 11
_LAMBDA, _FORALL, _LET, _MDATA = 6, 7, 8, 10
_PARAMETER = 4
_HELPER = re.compile(r"\.(?:match|_proof|proof|_simp|eq|sizeOf_spec)_\d+(?:_\d+)*$")


@dataclass
class Module:
    """A compiled file, read for an audit."""

    file: Olean
    constants: dict[str, Constant]
    digests: dict[tuple[int, tuple[str, ...]], bytes] = field(default_factory=dict)
    names: dict[int, frozenset[str]] = field(default_factory=dict)

    @classmethod
    def read(cls, data: bytes) -> "Module":
        """Reads a compiled file.

        Raises:
            OleanError: it is none that this reader knows.
        """
        return cls(*read_olean(data))

    def digest(self, at: int, levels: tuple[str, ...]) -> bytes:
        """Returns a digest of an expression: equal exactly where the expressions are.

        Names of bound variables do not count, nor do those of universe parameters; their order
        does. Binder kinds count, and so do the names of constants.
        """
        done = self.digests
        stack = [at]
        while stack:
            here = stack[-1]
            key = (here, levels)
            if key in done:
                stack.pop()
                continue
            waiting = [c for c in children(self.file, here) if (c, levels) not in done]
            if waiting:
                stack.extend(waiting)
                continue
            stack.pop()
            done[key] = self._join(here, levels)
        return done[(at, levels)]

    def _join(self, at: int, levels: tuple[str, ...]) -> bytes:
        file = self.file
        tag, fields = file.shape(at)[0], file.fields(at)
        parts: list[bytes] = [bytes([tag])]
        if tag == _BVAR:
            parts.append(file.number(fields[0]).encode())
        elif tag == _SORT:
            parts.append(self._level(fields[0], levels))
        elif tag == _CONST:
            parts.append(self._reference(file.name(fields[0])))
            parts.extend(self._level(one, levels) for one in file.items(fields[1]))
        elif tag in (_LAMBDA, _FORALL):
            parts.append(file.scalars(at)[8:9])
        elif tag == _LIT:
            inner = file.fields(fields[0])[0]
            number = file.shape(fields[0])[0] == 0
            parts.append(b"n" if number else b"s")
            parts.append((file.number(inner) if number else file.text(inner)).encode())
        elif tag == _PROJ:
            parts.append(file.name(fields[0]).encode() + b"." + file.number(fields[1]).encode())
        elif tag == _MDATA:
            return self.digests[(fields[1], levels)]
        parts.extend(self.digests[(child, levels)] for child in children(file, at))
        body = b"".join(len(part).to_bytes(4, "little") + part for part in parts)
        return hashlib.blake2b(body, digest_size=20).digest()

    def _reference(self, name: str) -> bytes:
        # Lean names a helper after the first declaration that needed it: what it is counts.
        constant = self.constants.get(name)
        if constant is None or not _HELPER.search(name) or len(constant.values_at) != 1:
            return name.encode()
        return b"#" + self.digest(constant.values_at[0], constant.levels)

    def _level(self, at: int, levels: tuple[str, ...], depth: int = 0) -> bytes:
        tag = self.file.shape(at)[0]
        if at < 0:
            return b"0"
        if depth > 200:
            raise OleanError("a universe level too deep")
        fields = self.file.fields(at)
        if tag >= _PARAMETER:
            name = self.file.name(fields[0])
            return b"p%d" % (levels.index(name) if name in levels else -1)
        inner = [self._level(one, levels, depth + 1) for one in fields]
        return b"(%d %s)" % (tag, b" ".join(inner))

    def used(self, constant: Constant) -> set[str]:
        """Returns the names of constants in a constant's statement and body."""
        found: set[str] = set(constant.tail)
        seen: set[int] = set()
        stack = [constant.type_at, *constant.values_at]
        while stack:
            at = stack.pop()
            if at in seen:
                continue
            seen.add(at)
            tag = self.file.shape(at)[0]
            if tag in (_CONST, _PROJ):
                found.add(self.file.name(self.file.fields(at)[0]))
            stack.extend(children(self.file, at))
        return found

    def reach(self, roots: set[str]) -> tuple[set[str], set[str]]:
        """Returns the names that roots rest on: those of this file, and those from elsewhere."""
        own: set[str] = set()
        other: set[str] = set()
        stack = list(roots)
        while stack:
            name = stack.pop()
            if name in own or name in other:
                continue
            constant = self.constants.get(name)
            if constant is None:
                other.add(name)
                continue
            own.add(name)
            stack.extend(self.used(constant))
        return own, other


def children(file: Olean, at: int) -> list[int]:
    """Returns the places of an expression's parts.

    Raises:
        OleanError: no expression, or one that no constant may hold.
    """
    tag, count, _ = file.shape(at)
    if at < 0 or tag > _PROJ:
        raise OleanError(f"no expression at {at}")
    if tag in (_BVAR, _SORT, _CONST, _LIT):
        return []
    fields = file.fields(at)
    if tag in (1, 2):
        raise OleanError("a free variable in a constant")
    start = {_LAMBDA: 1, _FORALL: 1, _LET: 1, _MDATA: 1, _PROJ: 2}.get(tag, 0)
    return fields[start:count]


def audit(
    statement: Module,
    submission: Module,
    name: str,
    library_axioms: Callable[[set[str]], dict[str, frozenset[str]]],
    allowed: frozenset[str] = ALLOWED,
) -> Finding:
    """Returns whether a submission proves the statement, as its compiled file says.

    Args:
        statement: the compiled statement, its proof a hole.
        submission: the compiled submission.
        name: the target's full name.
        library_axioms: for names of constants that come from imported modules, the axioms that
            each rests on; a name that it leaves out counts as unknown.
        allowed: the axioms that a proof may rest on, besides those that the statement declares.

    Raises:
        OleanError: a file holds what this reader does not know.
    """
    try:
        return _audit(statement, submission, name, library_axioms, allowed)
    except (IndexError, KeyError, struct.error) as error:
        raise OleanError(f"a broken file: {error!r}") from None


def _audit(
    statement: Module,
    submission: Module,
    name: str,
    library_axioms: Callable[[set[str]], dict[str, frozenset[str]]],
    allowed: frozenset[str],
) -> Finding:
    target = submission.constants.get(name)
    if target is None:
        return Finding(Outcome.TARGET_MISSING, f"no constant {name} in the compiled file")
    given = statement.constants[name]
    changed = _difference(statement, submission, given, target)
    if changed:
        return Finding(Outcome.STATEMENT_CHANGED, f"{name}: {changed}", {"changed": [name]})
    rests_on, imported = statement.reach(statement.used(_only_type(given)))
    shadowed = sorted(imported & submission.constants.keys())
    if shadowed:
        text = f"{shadowed[0]} comes from an import in the statement, and from the file itself here"
        return Finding(Outcome.STATEMENT_CHANGED, text, {"changed": [shadowed[0]]})
    for one in sorted(one for one in rests_on if not _HELPER.search(one)):
        mine = submission.constants.get(one)
        if mine is None:
            text = f"{one}, on which the statement rests, is missing"
            return Finding(Outcome.STATEMENT_CHANGED, text, {"changed": [one]})
        changed = _difference(statement, submission, statement.constants[one], mine, bodies=True)
        if changed:
            return Finding(Outcome.STATEMENT_CHANGED, f"{one}: {changed}", {"changed": [one]})
    own, other = submission.reach({name})
    unsafe = sorted(one for one in own if submission.constants[one].unsafe)
    if unsafe:
        return Finding(Outcome.FORBIDDEN, f"rests on unsafe {unsafe[0]}")
    return _judge_axioms(statement, submission, own, other, library_axioms, allowed)


def _judge_axioms(
    statement: Module,
    submission: Module,
    own: set[str],
    other: set[str],
    library_axioms: Callable[[set[str]], dict[str, frozenset[str]]],
    allowed: frozenset[str],
) -> Finding:
    stated = {
        one
        for one, constant in statement.constants.items()
        if constant.kind == "axiom"
        and one in submission.constants
        and not _difference(statement, submission, constant, submission.constants[one])
    }
    axioms = {one for one in own if submission.constants[one].kind == "axiom"} - stated
    known = library_axioms(other)
    unknown = sorted(other - known.keys())
    if unknown:
        return Finding(
            Outcome.INFRA_ERROR, f"the axioms of {unknown[0]} could not be found out", {}
        )
    axioms |= {axiom for one in other for axiom in known[one]}
    bad = sorted(axioms - allowed)
    if any(one == "sorryAx" for one in bad):
        return Finding(Outcome.SORRY, "rests on sorryAx, a hole", {"axioms": [*sorted(axioms)]})
    if bad:
        return Finding(
            Outcome.BAD_AXIOM, "rests on the axiom " + ", ".join(bad)[:200], {"axioms": [*bad]}
        )
    return Finding(Outcome.PROVED, "proved", {"axioms": [*sorted(axioms)]})


def _only_type(constant: Constant) -> Constant:
    return Constant(
        constant.name, constant.kind, constant.levels, constant.type_at, (), constant.tail, False
    )


def _difference(
    first: Module, second: Module, a: Constant, b: Constant, *, bodies: bool = False
) -> str:
    if a.kind != b.kind:
        return f"a {b.kind}, not a {a.kind}"
    if len(a.levels) != len(b.levels):
        return "other universe parameters"
    if first.digest(a.type_at, a.levels) != second.digest(b.type_at, b.levels):
        return "another statement" if not bodies else "another type"
    if a.tail != b.tail:
        return "other constructors"
    if bodies and a.kind != "theorem":
        mine = [first.digest(at, a.levels) for at in a.values_at]
        if mine != [second.digest(at, b.levels) for at in b.values_at]:
            return "another body"
    return ""
