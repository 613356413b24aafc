"""Puts a statement and a proof together into one file, and knows where each line came from."""

import re
from dataclasses import dataclass

from rewardkit.errors import InvalidReferenceError
from rewardkit.verdict import Json
from rewardkit.verifiers._names import check_keys
from rewardkit.verifiers.formal.scan import LEAN, Code, read_code

__all__ = [
    "Assembled",
    "Statement",
    "assemble",
    "declared_names",
    "read_statement",
    "reference_file",
    "split_imports",
]

_TARGET = re.compile(r"(?<![\w.])(?:theorem|lemma)\s+(«[^»]+»|[^\s:({\[⦃]+)")
_DECLARES = re.compile(
    r"^[ \t]*(?:@\[[^\]]*\]\s*)?(?:(?:private|protected|noncomputable|local|scoped|unsafe|partial|"
    r"nonrec|public|meta)\s+)*(theorem|lemma|def|abbrev|instance|inductive|structure|class|axiom|"
    r"opaque|example|namespace|section|variable|open|import|macro|macro_rules|notation|syntax|"
    r"elab|set_option|universe|infix[lr]?|prefix|postfix|attribute|end|mutual|initialize|run_cmd|"
    r"constant|deriving|include|omit|export|simproc|"
    r"#\w+!?)(?![\w'])",
    re.MULTILINE,
)
_NAMED = re.compile(
    r"^[ \t]*(?:@\[[^\]]*\]\s*)?(?:(?:private|protected|noncomputable|local|scoped|partial)\s+)*"
    r"(?:theorem|lemma|def|abbrev|inductive|structure|class|axiom|opaque)\s+([^\s:({\[⦃]+)",
    re.MULTILINE,
)
_IMPORT = re.compile(r"^[ \t]*((?:public\s+|meta\s+|private\s+)*import\s+(?:all\s+)?[^\n]*)", re.M)
_PRELUDE = re.compile(r"^[ \t]*prelude\b[ \t]*$", re.MULTILINE)
_MODULE = re.compile(r"^[ \t]*module\b[ \t]*$", re.MULTILINE)
_OPENING = re.compile(r"\s*(?::=|by\b|\|)")
_TERM = re.compile(r"(?:fun\b|λ|⟨|@|\(|show\b[^\n]*\bfrom\b|nomatch\b|nofun\b|absurd\b)")


@dataclass(frozen=True, slots=True)
class Statement:
    """What is to be proved."""

    header: str
    """Imports and options before it; no trailing line end."""
    preamble: str
    """Definitions before the target."""
    signature: str
    """The target up to, and without, its `:=`."""
    text: str
    """The whole statement with its hole."""
    name: str
    """The target's name as it is written after `theorem`."""
    declared: tuple[str, ...]
    """Names that the preamble declares."""
    imports: tuple[str, ...]
    prelude: bool

    @property
    def key(self) -> str:
        """Tells statements apart."""
        return f"{self.header}\0{self.text}\0{self.name}"


@dataclass(frozen=True, slots=True)
class Assembled:
    """A file for the checker."""

    text: str
    at: int
    """Where the submission's text begins in it."""
    code: Code
    """The submission as its own text."""
    shift: int
    """Added to a place of the submission to get its place in the completion."""
    indent: int = 0
    """Columns that every line of the submission was moved to the right."""
    body: bool = False
    """The submission is a proof body, and the statement was put before it."""
    imports: tuple[str, ...] = ()
    """Modules that the submission asks for beyond those of the statement."""

    def place(self, line: int, column: int) -> int | None:
        """Returns the place in the completion of a line (from 1) and column of the file.

        None outside the submission.
        """
        at = 0
        for _ in range(line - 1):
            at = self.text.find("\n", at) + 1
            if at == 0:
                return None
        at += column - self.at
        if self.indent:
            before = self.text[self.at : self.at + at].count("\n") + 1
            at -= self.indent * before
        return at + self.shift if 0 <= at <= len(self.code.text) else None


def read_statement(reference: Json) -> Statement:
    """Returns a reference as a statement.

    Args:
        reference: the statement's text, or an object with `statement`, and with `header` and
            `name` (the target's) where they are wanted.

    Raises:
        InvalidReferenceError: it has no statement, or the statement has no theorem.
    """
    fields = {"statement": reference} if isinstance(reference, str) else reference
    if not isinstance(fields, dict) or not isinstance(fields.get("statement"), str):
        raise InvalidReferenceError(
            'a Lean reference is {"statement": "theorem t … := by sorry", "header": "import …"}'
        )
    check_keys("a Lean reference", fields, ("statement", "header", "name"))
    text, header = str(fields["statement"]), fields.get("header") or ""
    if not isinstance(header, str):
        raise InvalidReferenceError("a Lean reference's header is a text, as in 'import Mathlib'")
    wanted = fields.get("name")
    bare = read_code(text, LEAN).bare
    targets = [m for m in _TARGET.finditer(bare) if wanted is None or m[1] == wanted]
    if not targets:
        named = f" {wanted}" if wanted else ""
        raise InvalidReferenceError(
            f"the statement has no theorem{named}: write it as 'theorem t … := by sorry'"
        )
    target = targets[-1]
    found_imports, rest = _take_imports(text)
    offset = len(text) - len(rest)
    hole = _find_hole(bare, target.end())
    header = "\n".join(part for part in (header.strip("\n"), *found_imports) if part)
    return Statement(
        header=header,
        preamble=rest[: max(0, _line_start(bare, target.start()) - offset)],
        signature=rest[max(0, _line_start(bare, target.start()) - offset) : hole - offset].rstrip(),
        text=rest,
        name=target[1],
        declared=tuple(
            name for name in declared_names(bare[: target.start()]) if name != target[1]
        ),
        imports=tuple(_modules(header)),
        prelude=_PRELUDE.search(read_code(header, LEAN).bare) is not None,
    )


def assemble(statement: Statement, submission: str, shift: int) -> Assembled:
    """Returns the file that holds a submission under its statement's header.

    A submission that declares something is a whole file, or a theorem that follows the statement's
    definitions; any other is the proof of the target.

    Args:
        statement: what is to be proved.
        submission: what the model wrote.
        shift: its place in the completion.
    """
    code = read_code(submission, LEAN)
    if _DECLARES.search(code.bare) is None:
        return _splice(statement, code, shift)
    own = [one for one in _modules(code.bare) if one not in statement.imports]
    blanked = code.bare
    text = submission
    for pattern in (_IMPORT, _PRELUDE, _MODULE):
        for found in pattern.finditer(blanked):
            text = text[: found.start()] + " " * len(found[0]) + text[found.end() :]
    preamble = statement.preamble if _lacks_preamble(statement, code) else ""
    head, body = _split_header(statement.header)
    imports = "".join(f"import {one}\n" for one in own)
    start = f"{head}\n{imports}{body}\n{preamble}".lstrip("\n")
    return Assembled(start + text, len(start), code, shift, imports=tuple(own))


def declared_names(bare: str) -> list[str]:
    """Returns the names that a text without comments declares, as they are written."""
    return list(_NAMED.findall(bare))


def _lacks_preamble(statement: Statement, code: Code) -> bool:
    """Returns whether a submission is the target alone, so that the definitions go before it."""
    own = declared_names(code.bare)
    if statement.name not in own or set(own) & set(statement.declared):
        return False
    lines = {line.strip() for line in read_code(statement.preamble, LEAN).bare.split("\n")}
    return not (lines - {""}) & {line.strip() for line in code.bare.split("\n")}


def reference_file(statement: Statement) -> str:
    """Returns the file that holds the statement with its hole."""
    return f"{statement.header}\n{statement.text}"


def _splice(statement: Statement, code: Code, shift: int) -> Assembled:
    head = f"{statement.header}\n{statement.preamble}{statement.signature}"
    if _OPENING.match(code.bare):
        joint = " := " if code.bare.lstrip().startswith("by") else " "
        start = (head + joint).lstrip("\n")
        return Assembled(start + code.text, len(start), code, shift, body=True)
    if _TERM.match(code.bare.lstrip()):
        start = f"{head} :=\n  ".lstrip("\n")
        return Assembled(start + code.text, len(start), code, shift, body=True)
    lines = code.text.split("\n")
    if lines and code.bare.split("\n")[0].strip() and not lines[0].startswith((" ", "\t")):
        # A body cut off after `by` keeps its first line at the margin of the rest, or not.
        rest = [len(x) - len(x.lstrip()) for x in lines[1:] if x.strip()]
        if rest and min(rest) > 0:
            lines[0] = " " * min(rest) + lines[0]
            shift -= min(rest)
    start = f"{head} := by\n".lstrip("\n")
    return Assembled(
        start + "\n".join(f"  {line}" for line in lines),
        len(start),
        read_code("\n".join(lines), LEAN),
        shift,
        indent=2,
        body=True,
    )


def split_imports(text: str) -> tuple[str, str]:
    r"""Returns a file's imports, and the file with them blank, so that its lines keep their place.

    >>> split_imports("import A\n-- x\ntheorem t : True := trivial\n")
    ('import A', '        \n-- x\ntheorem t : True := trivial\n')
    """
    bare = read_code(text, LEAN).bare
    imports, place = [], 0
    for line in bare.split("\n"):
        if line.strip() and not line.lstrip().startswith(("import ", "prelude")):
            break
        if line.strip():
            imports.append(text[place : place + len(line)].strip())
            text = text[:place] + " " * len(line) + text[place + len(line) :]
        place += len(line) + 1
    return "\n".join(imports), text


def _take_imports(text: str) -> tuple[list[str], str]:
    bare = read_code(text, LEAN).bare
    found: list[str] = []
    end = 0
    for line in bare.split("\n"):
        if line.strip() and not _IMPORT.match(line) and not _PRELUDE.match(line):
            break
        if line.strip():
            found.append(line.strip())
        end += len(line) + 1
    return (found, text[end:]) if found else ([], text)


def _split_header(header: str) -> tuple[str, str]:
    """Returns the part of a header with its imports, and what follows them."""
    imports, rest = _take_imports(header)
    return "\n".join(imports), rest


def _modules(text: str) -> list[str]:
    lines = _IMPORT.findall(read_code(text, LEAN).bare)
    words = [line.split("import", 1)[1].split() for line in lines]
    return [word for line in words for word in line if word not in ("all", "runtime")]


def _line_start(text: str, at: int) -> int:
    start = text.rfind("\n", 0, at) + 1
    # Attributes and doc comments of the target belong to it.
    while start > 0:
        previous = text.rfind("\n", 0, start - 1) + 1
        if not text[previous:start].strip().startswith("@["):
            break
        start = previous
    return start


def _find_hole(bare: str, at: int) -> int:
    """Returns where the target's `:=` stands: the first outside brackets."""
    depth = 0
    for i in range(at, len(bare)):
        if bare[i] in "([{⦃⟨":
            depth += 1
        elif bare[i] in ")]}⦄⟩":
            depth -= 1
        elif depth <= 0 and bare.startswith(":=", i):
            return i
    return len(bare)
