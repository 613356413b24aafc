"""Dafny programs as declarations: what a statement asks, and whether a program still says so."""

import itertools
import re
from dataclasses import dataclass

from rewardkit.errors import InvalidReferenceError
from rewardkit.verifiers.formal.scan import DAFNY, read_code

__all__ = ["Declaration", "SpecDifference", "compare", "find_banned", "read_declarations"]

_KEYWORDS = (
    *("method", "function", "lemma", "predicate", "datatype", "class", "const", "type", "newtype"),
    *("module", "trait", "iterator", "codatatype", "constructor", "import", "export", "include"),
    *("colemma", "copredicate", "inductive", "greatest", "least", "twostate", "opaque", "ghost"),
    *("static", "protected", "abstract", "comethod"),
)
_MODIFIERS = frozenset(
    {"ghost", "static", "protected", "abstract", "inductive", "greatest", "least", "twostate"}
    | {"opaque", "method", "refines", "co"}
)
_TOKEN = re.compile(r"[\w?'#]+|:\||:=|::|==>|<==>|<==|==|!=|<=|>=|&&|\|\||=>|->|\.\.|\"|\S")
_BANNED_WORDS = ("assume", "expect", "include", "axiom", "extern")
_ATTRIBUTE = re.compile(r"\{\s*:\s*([\w.]+)([^}]*)\}")
_HARMLESS = frozenset(
    {"induction", "trigger", "fuel", "opaque", "split_here", "vcs_split_on_every_assert", "nowarn"}
    | {"rlimit", "timeLimit", "timeLimitMultiplier", "autotriggers", "subsumption", "focus"}
    | {"matchingloop", "inline", "tailrecursion", "print", "auto_generated", "prependAssertToken"}
    | {"selective_checking", "start_checking_here", "id", "test", "resource_limit", "nativeType"}
)
_CALLABLE = frozenset(
    {"method", "function", "lemma", "predicate", "iterator", "constructor", "colemma"}
    | {"copredicate", "comethod"}
)
_CLAUSES = frozenset(
    {"requires", "ensures", "decreases", "modifies", "reads", "invariant", "yield", "returns"}
)


@dataclass(frozen=True, slots=True)
class Declaration:
    """One top-level declaration."""

    kind: str
    name: str
    head: tuple[str, ...]
    """Tokens up to the body."""
    body: tuple[str, ...] | None
    """Tokens of the body with its braces; None without one."""

    @property
    def callable(self) -> bool:
        """True for what has a specification and a body."""
        return self.kind in _CALLABLE

    def clauses(self, word: str) -> list[tuple[str, ...]]:
        """Returns the conditions that follow a word such as `ensures`, each as its tokens."""
        found: list[list[str]] = []
        inside = False
        depth = 0
        for token in self.head:
            depth += (token in "([{") - (token in ")]}")
            if token in _CLAUSES and depth == 0:
                inside = token == word
                if inside:
                    found.append([])
            elif inside:
                found[-1].append(token)
        return [tuple(token for token in one if token != ";") for one in found]


@dataclass(frozen=True, slots=True)
class SpecDifference:
    """What a program says otherwise than its statement."""

    missing: bool
    """The declaration is not there at all."""
    text: str


def read_declarations(program: str) -> list[Declaration]:
    """Returns a program's top-level declarations, comments left out."""
    bare = _keep_strings(program)
    tokens = _TOKEN.findall(bare)
    found: list[Declaration] = []
    at = 0
    while at < len(tokens):
        if tokens[at] not in _KEYWORDS:
            at += 1
            continue
        declaration, at = _read(tokens, at)
        found.append(declaration)
    return found


def _keep_strings(program: str) -> str:
    code = read_code(program, DAFNY)
    # A string's content matters to what a program says: it takes part as a token.
    parts, at = [], 0
    for content in code.strings:
        quote = code.bare.find('"', at)
        if quote < 0:
            break
        parts.append(code.bare[at:quote])
        parts.append(" str_" + content.encode().hex() + " ")
        at = quote + len(content) + 2
    return "".join(parts) + code.bare[at:]


def _read(tokens: list[str], at: int) -> tuple[Declaration, int]:
    start = at
    kind = tokens[at]
    while at < len(tokens) and tokens[at] in _KEYWORDS and tokens[at] in _MODIFIERS | _CALLABLE:
        kind = tokens[at] if tokens[at] in _CALLABLE and kind != "function" else kind
        at += 1
    if at == start:
        at += 1
    if kind in _MODIFIERS and kind not in _CALLABLE and at < len(tokens):
        kind = tokens[at]
        at += 1
    at = _skip_attributes(tokens, at)
    name = tokens[at] if at < len(tokens) else ""
    depth, body_at = 0, -1
    while at < len(tokens):
        token = tokens[at]
        if depth == 0 and at > start and token in _KEYWORDS and tokens[at - 1] not in _MODIFIERS:
            break
        if token == "{" and depth == 0 and not _in_expression(tokens, at):
            body_at = at
            at = _closing(tokens, at)
            break
        depth += (token in "([{") - (token in ")]}")
        at += 1
    head = tuple(tokens[start : body_at if body_at >= 0 else at])
    body = tuple(tokens[body_at:at]) if body_at >= 0 else None
    return Declaration(kind, name, head, body), at


def _in_expression(tokens: list[str], at: int) -> bool:
    """True for a brace that opens an attribute or a set within a specification."""
    if at + 1 < len(tokens) and tokens[at + 1] == ":":
        return True
    before = tokens[at - 1]
    return before in (
        *(
            "==",
            "!=",
            "in",
            "+",
            "-",
            "*",
            "<=",
            ">=",
            "<",
            ">",
            "&&",
            "||",
            "==>",
            "<==>",
            "(",
            ",",
        ),
        *("requires", "ensures", "decreases", "modifies", "reads", "then", "else", "::", ":=", "|"),
        *("!", "[", "multiset", "set", "iset"),
    )


def _closing(tokens: list[str], at: int) -> int:
    depth = 0
    while at < len(tokens):
        depth += (tokens[at] == "{") - (tokens[at] == "}")
        at += 1
        if depth == 0:
            break
    return at


def _skip_attributes(tokens: list[str], at: int) -> int:
    while at + 1 < len(tokens) and tokens[at] == "{" and tokens[at + 1] == ":":
        at = _closing(tokens, at)
    return at


def find_banned(program: str, statement: str) -> str:
    """Returns the first construct that could get round the verifier, or an empty string.

    Args:
        program: the submission.
        statement: what it has to satisfy; what stands there may be repeated.
    """
    bare = read_code(program, DAFNY).bare
    given = set(_TOKEN.findall(read_code(statement, DAFNY).bare))
    words = _TOKEN.findall(bare)
    for word in words:
        if word in _BANNED_WORDS and word not in given:
            return str(word)
    for name, rest in _ATTRIBUTE.findall(bare):
        allowed = name in _HARMLESS and "false" not in rest.split()
        if not allowed and name not in given:
            return f"{{:{name}{rest.rstrip()}}}"
    for first, second in itertools.pairwise(words):
        if first == "decreases" and second == "*":
            return "decreases *"
    known = {one.name for one in read_declarations(statement)}
    for declaration in _deep(program):
        bodyless = declaration.callable and declaration.body is None
        if bodyless and declaration.name not in known:
            return f"{declaration.kind} {declaration.name} without a body"
    return ""


def _deep(program: str) -> list[Declaration]:
    """Returns the declarations of a program, and those inside its modules and classes."""
    found = []
    for declaration in read_declarations(program):
        found.append(declaration)
        if declaration.kind in ("module", "class", "trait", "datatype") and declaration.body:
            found.extend(_deep(" ".join(declaration.body[1:-1])))
    return found


def compare(statement: str, program: str) -> SpecDifference | None:
    """Returns the first way in which a program does not meet a statement as text, or None.

    Every declaration of the statement is there with the same tokens; one without a body has a body
    now; `decreases` clauses may be added.

    Raises:
        InvalidReferenceError: the statement declares nothing.
    """
    wanted = read_declarations(statement)
    if not wanted:
        raise InvalidReferenceError("a Dafny statement declares a method, function or lemma")
    have = {one.name: one for one in read_declarations(program)}
    counts = [one.name for one in read_declarations(program)]
    for given in wanted:
        mine = have.get(given.name)
        if mine is None or counts.count(given.name) != 1:
            why = "not declared" if mine is None else "declared more than once"
            return SpecDifference(mine is None, f"{given.kind} {given.name}: {why}")
        if mine.kind != given.kind or _without_decreases(mine) != _without_decreases(given):
            return SpecDifference(False, f"{given.kind} {given.name}: another specification")
        if given.body is not None and mine.body != given.body:
            return SpecDifference(False, f"{given.kind} {given.name}: another body")
        if given.body is None and given.callable and mine.body is None:
            return SpecDifference(True, f"{given.kind} {given.name}: no body")
    return None


def _without_decreases(declaration: Declaration) -> tuple[str, ...]:
    kept: list[str] = []
    skip = False
    for token in declaration.head:
        if token in _CLAUSES:
            skip = token == "decreases"
        if not skip and token != ";":
            kept.append(token)
    return _drop_attributes(kept)


def _drop_attributes(tokens: list[str]) -> tuple[str, ...]:
    kept: list[str] = []
    at = 0
    while at < len(tokens):
        after = _skip_attributes(tokens, at)
        if after == at:
            kept.append(tokens[at])
            at += 1
        else:
            at = after
    return tuple(kept)
