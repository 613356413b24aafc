"""Grades hostile rows with little memory, and prints one line a row. Run by test_hostile.py."""

import json
import os
import resource
import sys
from collections.abc import Sequence

from rewardkit import MathVerifier
from rewardkit.testing.soup import FRAGMENTS
from rewardkit.testing.soup import MATH_REFERENCES as REFERENCES
from tests.verifiers.math.cases import KINDS_OF_BOMBS, by_kind

MEMORY = 1536 * 2**20
NEST = "( [ | \\left( \\{ \\begin{pmatrix} \\langle \\lfloor 5! 5% x' f( g(".split()

ROOTS = ",".join(f"\\sqrt{{{n}}}" for n in range(2, 502))
FRACTIONS = ", ".join(f"\\frac{{{n}}}{{7}}" for n in range(500))
INTERVALS = "\\cup".join(f"({n},{n + 1})" for n in range(500))
MATRIX = "\\begin{pmatrix}1&2\\\\3&4\\end{pmatrix}"
NINE_ROWS = "\\\\".join(["&".join("123456789")] * 9)
PMATRIX = "\\boxed{{\\begin{{pmatrix}}{}\\end{{pmatrix}}}}"

BOMBS = {
    "ten megabytes of open braces": "{" * 10_000_000,
    "a megabyte of boxes": "\\boxed{" * 140_000,
    "a megabyte of braces in a box": "\\boxed{" + "{}" * 500_000 + "}",
    "a megabyte of NUL": "\\boxed{" + "\x00" * 1_000_000 + "}",
    "a megabyte of surrogates": "\\boxed{" + "\ud800" * 1_000_000 + "}",
    "a megabyte of thinking tags": "<think>" * 150_000 + "</think>" * 150_000 + "\\boxed{5}",
    "a megabyte of labels": "Answer:\n" * 125_000,
    "a megabyte of hashes": "#### \n" * 170_000,
    "a megabyte of phrases": "the answer is " * 70_000,
    "a megabyte of bold": "**" * 500_000,
    "a megabyte of answer tags": "<answer>" * 120_000,
    "a megabyte of json": '{"answer": "' * 80_000,
    "a megabyte of dollars": "Answer: " + "$" * 1_000_000,
    "a megabyte of spaces": "Answer:" + " " * 1_000_000 + "5",
    "a megabyte of line breaks": "Answer:" + "\n" * 1_000_000 + "5",
    "a number of a million digits": "\\boxed{" + "9" * 1_000_000 + "}",
    "a decimal of a million digits": "\\boxed{0." + "3" * 1_000_000 + "}",
    "a tower of powers": "\\boxed{9^{9^{9^{9^{9}}}}}",
    "a tower without braces": "\\boxed{9**9**9**9**9**9}",
    "a difference of towers": "\\boxed{9^{9^{9^9}} - 9^{9^{9^9}} + 42}",
    "a factorial of a factorial": "\\boxed{((9!)!)!}",
    "a chain of factorials": "\\boxed{5" + "!" * 3_000 + "}",
    "a binomial": "\\boxed{\\binom{10^{12}}{5 \\cdot 10^{11}}}",
    "a power of a polynomial": "\\boxed{(x+y+z)^{10^{9}}}",
    "powers of powers": "\\boxed{((((((x+1)^{99})^{99})^{99})^{99})^{99})^{99}}",
    "exponential trigonometry": "\\boxed{" + "\\sin(\\cos(" * 20 + "x" + "))" * 20 + "}",
    "a sum of sums": "\\boxed{" + "\\sum_{k=1}^{2000}" * 8 + "k}",
    "an integral of integrals": "\\boxed{" + "\\int_0^1 " * 6 + "\\sin(xyz)" + " dx" * 6 + "}",
    "a limit of limits": "\\boxed{" + "\\lim_{x\\to 0} " * 20 + "x}",
    "an infinite sum": "\\boxed{\\sum_{k=1}^{\\infty} \\frac{\\sin(k!)}{k^{1.01}}}",
    "forty signs": "\\boxed{1" + "\\pm 1" * 40 + "}",
    "a set of five hundred roots": "\\boxed{\\{" + ROOTS + "\\}}",
    "a list of five hundred fractions": "\\boxed{" + FRACTIONS + "}",
    "a union of five hundred intervals": "\\boxed{" + INTERVALS + "}",
    "a matrix of five hundred entries": PMATRIX.format("&".join(["\\pi"] * 500)),
    "a product of matrices": "\\boxed{" + MATRIX * 400 + "}",
    "a run of backslashes": "\\boxed{" + "\\" * 16_000 + "}",
    "a determinant": PMATRIX.format(NINE_ROWS).replace("{\\begin", "{\\det\\begin"),
    "an inequality of high degree": "\\boxed{(x-1)^{97}(x^2-2)^{33}\\sin(x^{9}) > \\tan x}",
    "a chain of inequalities": "\\boxed{" + "x < " * 500 + "x}",
    "a numeral": "\\boxed{" + "Z" * 4_000 + "_{36}}",
    "a root of high degree": "\\boxed{\\sqrt[10^{9}]{2}}",
    "a remainder": "\\boxed{3^{10^{15}} \\bmod 10^{15}}",
    "an exponent of ten digits": "\\boxed{1e9999999999}",
    "a unit of five hundred units": "\\boxed{5 \\text{ " + "km " * 500 + "}}",
    "a unit's power": "\\boxed{5 \\text{ km}^{999999999}}",
    "number words": "\\boxed{" + "nine hundred " * 1_000 + "}",
    "labelled parts": "\\boxed{" + "(a) 5, (b) 7, " * 1_000 + "}",
    "options": "\\boxed{" + "A, " * 5_000 + "B}",
    "code": "\\boxed{__import__('os').mkdir('MARKER')}",
    "code in an expression": "\\boxed{5 + exec(\"import os; os.mkdir('MARKER')\")}",
    "a template": "\\boxed{{{().__class__.__base__.__subclasses__()}}}",
    "a LaTeX shell": "\\boxed{\\immediate\\write18{mkdir MARKER}}",
    "a LaTeX file": "\\boxed{\\input{/etc/passwd}}",
    "a LaTeX definition": "\\boxed{\\def\\x{\\x\\x}\\x}",
    "a pickled object": "\\boxed{cos\nsystem\n(S'mkdir MARKER'\ntR.}",
}  # fmt: skip


def report(name: str, verifier: MathVerifier, completion: str, reference: str) -> None:
    verdict = verifier.verify(completion, reference)
    line = {
        "name": name,
        "score": verdict.score,
        "reason": verdict.reason,
        "length": len(verdict.to_json()),
    }
    sys.stdout.write(json.dumps(line) + "\n")


def flood(fragment: str) -> str:
    """Returns a box full of one fragment, as long as the longest answer that is read."""
    return "\\boxed{" + fragment * (16_000 // len(fragment)) + "}"


def grade_floods(fragments: Sequence[str], references_each: int) -> None:
    with MathVerifier(symbolic=False) as verifier:
        for at, fragment in enumerate(fragments):
            for step in range(references_each):
                reference = REFERENCES[(at + 9 * step) % len(REFERENCES)]
                report(f"{fragment} for {reference}", verifier, flood(fragment), reference)


def grade_bombs(marker: str) -> None:
    with MathVerifier(mode="lenient", timeout_s=0.5) as verifier:
        for at, (name, text) in enumerate(BOMBS.items()):
            report(name, verifier, text.replace("MARKER", marker), ("42", "x^2+1")[at % 2])


def grade_fixtures(marker: str) -> None:
    kinds = by_kind()
    with MathVerifier(mode="lenient", timeout_s=0.5) as verifier:
        for case in (case for kind in KINDS_OF_BOMBS for case in kinds[kind]):
            text = case.completion.replace("/tmp/rewardkit_marker", marker)
            report(case.id, verifier, text, case.reference)


def main(part: str, cpu_s: int) -> None:
    """Grades one group within limits that the kernel holds."""
    for what, limit in ((resource.RLIMIT_AS, MEMORY), (resource.RLIMIT_CPU, cpu_s)):
        resource.setrlimit(what, (limit, resource.getrlimit(what)[1]))
    marker = os.path.abspath("marker")
    match part:
        case "bombs":
            grade_bombs(marker)
        case "fixtures":
            grade_fixtures(marker)
        case "floods":
            kept = [f for f in (*FRAGMENTS, *NEST, "1e5") if "box" not in f and "answer>" not in f]
            grade_floods(kept, 4)
            with MathVerifier(symbolic=False) as verifier:
                for reference in REFERENCES:
                    report(f"itself: {reference}", verifier, flood(reference), reference)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
