"""The rows that the math benchmarks grade: labelled cases, and real solutions of GSM8K."""

import json
import os
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

__all__ = [
    "HARDEST_KINDS",
    "HOSTILE_KINDS",
    "Case",
    "case_files",
    "gsm8k_file",
    "load_cases",
    "load_gsm8k",
    "long_cases",
]

ROOT = Path(__file__).resolve().parents[1]
FIXTURES = ROOT / "fixtures/math/accepted_rejected.jsonl"

HARDEST_KINDS = (
    "european_decimal",
    "repeating_decimal",
    "antiderivative_constant",
    "asymptotics",
    "modular_general",
    "unicode_math",
    "multi_part_labels",
    "complex_numbers",
    "currency",
    "dates_times",
)
"""The kinds on which the best peer of each was right least often."""
HOSTILE_KINDS = ("resource_bomb", "code_injection", "bad_unicode_bytes", "long_output")


@dataclass(frozen=True, slots=True)
class Case:
    """One completion with its reference and what a careful grader says of it."""

    id: str
    kind: str
    reference: str
    completion: str
    label: bool
    why: str = ""


def shared_folder() -> Path:
    """Returns where optional data is: $REWARDKIT_SHARED, else `shared` beside the checkout."""
    return Path(os.environ.get("REWARDKIT_SHARED") or ROOT.parent / "shared")


def case_files() -> dict[str, Path]:
    """Returns the labelled files that are here, by the name that tables give them."""
    known = {"fixtures": FIXTURES, "second set": shared_folder() / "cases/math/cases.jsonl"}
    return {name: path for name, path in known.items() if path.is_file()}


def gsm8k_file() -> Path | None:
    """Returns the file of real model solutions, or None where it is absent."""
    path = shared_folder() / "data/gsm8k/example_model_solutions.jsonl"
    return path if path.is_file() else None


def load_cases(path: Path) -> list[Case]:
    """Returns the cases of a labelled file, long completions written out."""
    return [_case(json.loads(line)) for line in path.read_text("utf-8").splitlines()]


def load_gsm8k(path: Path) -> list[Case]:
    """Returns each model's solutions with the official answer and the published correctness."""
    return list(_solutions(path))


def _case(row: dict[str, object]) -> Case:
    repeat = row.get("repeat")
    completion = _written_out(repeat) if isinstance(repeat, dict) else row.get("completion")
    return Case(
        id=str(row["id"]),
        kind=str(row["kind"]),
        reference=str(row["reference"] if "reference" in row else row["gold"]),
        completion=str(row["response"] if completion is None else completion),
        label=bool(row["label"]),
        why=str(row.get("why", "")),
    )


def _written_out(repeat: dict[str, object]) -> str:
    count = int(str(repeat["count"]))
    unit, middle, close = (str(repeat.get(key, "")) for key in ("unit", "middle", "close"))
    return f"{repeat['before']}{unit * count}{middle}{close * count}{repeat['after']}"


def _solutions(path: Path) -> Iterator[Case]:
    for number, line in enumerate(path.read_text("utf-8").splitlines()):
        row = json.loads(line)
        reference = row["ground_truth"].rpartition("\nA:")[2].strip()
        for model, solution in row.items():
            if isinstance(solution, dict):
                yield Case(
                    id=f"{number}-{model}",
                    kind="gsm8k",
                    reference=reference,
                    completion=solution["solution"],
                    label=solution["is_correct"],
                )


_SENTENCES = (
    "Substituting $u = t + {n}$ turns the problem into a standard one.",
    "Therefore $x_{{{n}}} = \\frac{{{n}}}{{{m}}}$, and the second condition follows.",
    "Note that $\\sqrt{{{n}}} < {m}$ and $f(x) = x^2 - {m}x + {n}$ has no root in $[0, 1]$.",
    "By symmetry, \\[ \\sum_{{k=1}}^{{{n}}} k^2 = \\frac{{n(n+1)(2n+1)}}{{6}}. \\]",
    "Let me check case {n}: the left side is {m}, so the inequality holds.\n\n",
)


def long_cases(length: int, count: int) -> list[Case]:
    """Returns cases with solutions of `length` characters, the answer 3/4 at their end."""
    rng = random.Random(length)
    return [_long_case(length, number, rng) for number in range(count)]


def _long_case(length: int, number: int, rng: random.Random) -> Case:
    end = f" Attempt {number} ends here, so the answer is $\\boxed{{\\frac{{3}}{{4}}}}$."
    parts, left = list[str](), length - len(end)
    while left > 0:
        sentence = rng.choice(_SENTENCES).format(n=rng.randint(2, 99), m=rng.randint(2, 99))
        parts.append(sentence)
        left -= len(sentence) + 1
    return Case(
        f"{length}-{number}", "length", "0.75", " ".join(parts)[: length - len(end)] + end, True
    )
