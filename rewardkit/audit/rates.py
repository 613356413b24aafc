"""How often a reward is wrong over generated families, with intervals."""

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING

from rewardkit.noise import wilson_interval

if TYPE_CHECKING:
    from rewardkit.audit.context import Context

__all__ = ["Rate", "measure_rates"]


@dataclass(frozen=True, slots=True)
class Rate:
    """One family of answers, and how many of them the reward got wrong."""

    family: str
    kind: str
    """`false negative`: right answers refused. `false positive`: wrong ones paid."""
    errors: int
    cases: int

    def to_dict(self) -> dict[str, object]:
        """Returns plain JSON data, with the 95 % Wilson interval."""
        interval = wilson_interval(self.errors, self.cases)
        return {
            "family": self.family,
            "kind": self.kind,
            "errors": self.errors,
            "cases": self.cases,
            "rate": self.errors / self.cases if self.cases else None,
            "interval": [interval.low, interval.high],
        }


def _thousands(n: int) -> str:
    return f"{n:,}"


RIGHT: dict[str, Callable[[int], tuple[str, str]]] = {
    "as the reference": lambda n: (str(n), str(n)),
    "one decimal zero": lambda n: (str(n), f"{n}.0"),
    "thousands separators": lambda n: (str(n + 1000), _thousands(n + 1000)),
    "in dollars": lambda n: (str(n), f"${n}$"),
    "spaces around": lambda n: (str(n), f"  {n} "),
    "plus sign": lambda n: (str(n), f"+{n}"),
    "fraction as decimal": lambda n: (f"\\frac{{{2 * n + 1}}}{{2}}", f"{n}.5"),
    "fraction with a slash": lambda n: (f"\\frac{{{n}}}{{7}}", f"{n}/7"),
    "fraction not reduced": lambda n: (f"\\frac{{{n}}}{{7}}", f"\\frac{{{3 * n}}}{{21}}"),
    "display fraction": lambda n: (f"\\frac{{{n}}}{{7}}", f"\\dfrac{{{n}}}{{7}}"),
    "percent as decimal": lambda n: (f"{n / 100:g}", f"{n}\\%"),
    "power of ten": lambda n: (str(n * 100), f"{n}\\times 10^{{2}}"),
    "set in another order": lambda n: (f"\\{{{n}, {n + 3}\\}}", f"\\{{{n + 3}, {n}\\}}"),
    "with its variable": lambda n: (str(n), f"x={n}"),
    "with its unit": lambda n: (str(n), f"{n}\\text{{ cm}}"),
    "true minus sign": lambda n: (f"-{n}", f"\u2212{n}"),
    "full-width digits": lambda n: (str(n), "".join(chr(0xFF10 + int(d)) for d in str(n))),
}
"""Families of right answers: reference and another spelling of the same value."""

WRONG: dict[str, Callable[[int], tuple[str, str]]] = {
    "another number": lambda n: (str(n), str(n + 1)),
    "opposite sign": lambda n: (str(n), f"-{n}"),
    "inverse": lambda n: (f"\\frac{{{n}}}{{7}}", f"\\frac{{7}}{{{n}}}"),
    "ten times as much": lambda n: (str(n), str(10 * n)),
    "another tail": lambda n: (f"{n}.25", f"{n}.52"),
    "pair in another order": lambda n: (f"({n}, {n + 3})", f"({n + 3}, {n})"),
    "one of two": lambda n: (f"\\{{{n}, {n + 3}\\}}", f"\\{{{n}\\}}"),
}
"""Families of wrong answers: reference and another value."""


def measure_rates(context: "Context") -> list[Rate]:
    """Returns the error rates over the families of a reward that grades numbers."""
    base, session = context.baseline, context.session
    if base is None or base.kind != "math":
        return []
    rates = []
    for wrong, families in ((False, RIGHT), (True, WRONG)):
        for name, make in families.items():
            random = Random(name)
            numbers = [random.randint(8, 96) * 7 + 1 for _ in range(context.limits.rate_cases)]
            cases = [make(n) for n in numbers]
            results = session.score(
                [[session.case(base.frame.fill(a), base.reference(r))] for r, a in cases],
                timeout_s=3 * session.timeout_s,
            )
            scored = [r.cells[0].value for r in results if r.ok and r.cells[0].value is not None]
            paid = sum(base.share(value) > 0.5 for value in scored)
            errors = paid if wrong else len(scored) - paid
            rates.append(
                Rate(name, "false positive" if wrong else "false negative", errors, len(scored))
            )
    return rates
