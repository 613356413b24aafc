"""The graders that are measured, each as a function of completion and reference.

A peer gets what its documentation asks for: Math-Verify its reference in a formula, its default
timeouts and the main thread; a grader of answers the last box.
"""

import functools
import importlib
import importlib.util
from collections.abc import Callable
from typing import Any, NamedTuple

__all__ = ["GRADERS", "Build", "Grade", "Grader", "available", "builder"]


class Grade(NamedTuple):
    """What a grader said."""

    passed: bool | None
    """None where it says of itself that it could not decide."""
    tier: str = ""


Grader = Callable[[str, str], Grade]
Build = Callable[[], Grader]
"""Makes a grader in the process that runs it; picklable."""


def _rewardkit(mode: str) -> Grader:
    from rewardkit import MathVerifier

    verifier = MathVerifier(mode="strict" if mode == "strict" else "lenient")
    # An unreadable pair wakes the last tier, so no row pays for its start.
    verifier.verify(r"\boxed{\frac{\oslash 1}{\oslash}}", r"\oslash \frac{\oslash}{2}")

    def grade(completion: str, reference: str) -> Grade:
        verdict = verifier.verify(completion, reference)
        passed = None if verdict.score is None else verdict.passed
        return Grade(passed, str(verdict.evidence.get("tier", "")))

    return grade


def _math_verify() -> Grader:
    from math_verify import parse, verify

    def grade(completion: str, reference: str) -> Grade:
        return Grade(bool(verify(parse(f"${reference}$"), parse(completion))))

    return grade


def _math_verify_box_first() -> Grader:
    from math_verify import ExprExtractionConfig, LatexExtractionConfig, parse, verify

    config = [LatexExtractionConfig(boxed_match_priority=0), ExprExtractionConfig()]

    def grade(completion: str, reference: str) -> Grade:
        gold = parse(rf"\boxed{{{reference}}}", config)
        return Grade(bool(verify(gold, parse(completion, config))))

    return grade


def _math_verify_anchored() -> Grader:
    from math_verify import LatexExtractionConfig, parse, verify

    config = [LatexExtractionConfig(boxed_match_priority=0, try_extract_without_anchor=False)]

    def grade(completion: str, reference: str) -> Grade:
        gold = parse(f"${reference}$")
        if not gold:
            return Grade(None)
        return Grade(bool(verify(gold, parse(completion, config, extraction_mode="first_match"))))

    return grade


def _mathruler() -> Grader:
    grader: Any = importlib.import_module("mathruler.grader")

    def grade(completion: str, reference: str) -> Grade:
        answer = grader.extract_boxed_content(completion)
        return Grade(bool(grader.grade_answer(answer, reference)))

    return grade


GRADERS: dict[str, tuple[tuple[str, ...], Build]] = {
    "rewardkit, lenient": (("rewardkit",), functools.partial(_rewardkit, "lenient")),
    "rewardkit, strict": (("rewardkit",), functools.partial(_rewardkit, "strict")),
    "Math-Verify": (("math_verify",), _math_verify),
    "Math-Verify, box first": (("math_verify",), _math_verify_box_first),
    "Math-Verify, anchored as in TRL": (("math_verify",), _math_verify_anchored),
    "mathruler (PRM800K grader)": (("mathruler", "pylatexenc", "tqdm"), _mathruler),
}
"""By the name in the tables: the packages it needs, and what builds it where it runs."""


def builder(name: str) -> Build:
    """Returns what builds a grader."""
    return GRADERS[name][1]


def available() -> list[str]:
    """Returns the names of the graders whose packages are installed."""
    return [name for name, (packages, _) in GRADERS.items() if all(map(_installed, packages))]


def _installed(package: str) -> bool:
    return importlib.util.find_spec(package) is not None
