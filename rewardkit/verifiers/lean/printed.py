"""The audit for backends that give no compiled file: what Lean prints about the constants.

A REPL or an HTTP server hands back messages only, so that the audit runs in the submission's own
environment. A notation or a macro of the submission could reach it; here none is allowed.
"""

import re
import secrets

from rewardkit.verifiers.formal.outcome import Finding, Outcome
from rewardkit.verifiers.lean.backends import Backend
from rewardkit.verifiers.lean.messages import Message
from rewardkit.verifiers.lean.source import Assembled, Statement, reference_file

__all__ = ["judge_printed", "print_statement"]

_EXTENDS = re.compile(
    r"(?<![\w.'])(macro|macro_rules|syntax|notation|notation3|infix[lr]?|prefix|postfix|elab|"
    r"declare_syntax_cat|binder_predicate|#exit|open\s+[^\n]*\bin)(?![\w'])"
)
_AXIOMS = re.compile(
    r"^'(.+)' (?:depends on axioms: \[(.*)\]|does not depend on any axioms)$", re.S
)


def print_statement(backend: Backend, statement: Statement) -> tuple[str, ...]:
    """Returns what Lean prints about the statement and the definitions before it."""
    printed = _ask(backend, statement, reference_file(statement))
    return tuple(_show(message) for message in printed[:-1]) if printed else ()


def judge_printed(
    backend: Backend,
    statement: Statement,
    file: Assembled,
    given: tuple[str, ...],
    allowed: frozenset[str],
) -> Finding:
    """Returns whether a submission without errors proves the statement, as Lean prints it."""
    extends = _EXTENDS.search(file.code.bare)
    if extends:
        text = f"{extends[1]} could reach an audit in the same file, and this backend has no other"
        return Finding(Outcome.FORBIDDEN, text, {"construct": extends[1]})
    printed = _ask(backend, statement, file.text)
    if not printed:
        return Finding(Outcome.TARGET_MISSING, f"Lean does not print {statement.name}")
    if tuple(_show(message) for message in printed[:-1]) != given:
        return Finding(Outcome.STATEMENT_CHANGED, f"{statement.name} or a definition differs")
    read = _AXIOMS.match(printed[-1].text)
    if read is None:
        return Finding(Outcome.TARGET_MISSING, "Lean does not list the axioms")
    listed = re.sub(r"\.\{[^}]*\}", "", (read[2] or "").replace("\n", " "))
    axioms = sorted(one.strip() for one in listed.split(",") if one.strip())
    bad = [one for one in axioms if one not in allowed]
    if "sorryAx" in bad:
        return Finding(Outcome.SORRY, "rests on sorryAx, a hole", {"axioms": list(axioms)})
    if bad:
        return Finding(Outcome.BAD_AXIOM, f"rests on the axiom {bad[0]}", {"axioms": list(bad)})
    return Finding(Outcome.PROVED, "proved, as Lean prints it", {"axioms": list(axioms)})


def _ask(backend: Backend, statement: Statement, text: str) -> list[Message]:
    """Returns the answers to the audit's commands, or none unless every one was answered."""
    marker = secrets.token_hex(8)
    names = [*statement.declared, statement.name]
    commands = [f'#print "{marker}"', "set_option pp.all true", "set_option pp.maxSteps 1000000"]
    commands += ["set_option pp.rawOnError true", "set_option pp.deepTerms true"]
    commands += [f"#print {name}" for name in names[:-1]]
    commands += [f"#check @{statement.name}", f"#print axioms {statement.name}"]
    ran = backend.check(f"{text}\n\n" + "\n".join(commands) + "\n")
    told = [m for m in ran.messages if m.severity == "information"]
    start = [i for i, message in enumerate(told) if message.text.strip() == marker]
    if ran.ended != "done" or len(start) != 1:
        return []
    answers = told[start[0] + 1 :]
    whole = not any("failed to pretty print" in m.text or "⋯" in m.text for m in answers)
    return answers if whole and len(answers) == len(names) + 1 else []


def _show(message: Message) -> str:
    return re.sub(r"\s+", " ", message.text).strip()
