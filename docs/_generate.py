"""Writes the tables of docs/ that come from fixtures; a test holds that they are up to date.

python docs/_generate.py
"""

import importlib
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from rewardkit.answer import AnswerPolicy, extract_answer

__all__ = ["conformance", "main", "math_examples", "place"]

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs/verifiers/math.md"
ADAPTERS_PAGE = ROOT / "docs/adapters.md"
CONFORMANCE = ROOT / "fixtures/adapters/conformance.jsonl"
FIXTURES = ROOT / "fixtures/math/accepted_rejected.jsonl"
GROUPS = {
    "Numbers": "int_plain int_near_miss fraction_forms fraction_near_miss decimal_forms "
    "exact_vs_approx percent thousands_sep european_decimal mixed_number sci_notation sig_figs "
    "repeating_decimal number_words base_n powers_huge chained_equality",
    "Expressions": "radicals pi_e_constants factorial_binomial sums_products_integrals logs_exp "
    "trig polynomials algebraic_expr function_def abs_floor_piecewise complex_numbers "
    "antiderivative_constant asymptotics plain_ascii_math unicode_math latex_format_noise",
    "Relations and structures": "equations_lines_conics assignments inequalities "
    "intervals_unions interval_vs_point sets_unordered tuples_ordered multi_answer_all "
    "matrices_vectors plus_minus ratios modular_general sequences_ellipsis multi_part_labels "
    "empty_no_solution",
    "Quantities and words": "units currency degrees_radians dates_times mcq text_answer "
    "yes_no_bool",
    "Where the answer stands": "box_variants several_boxed extraction_phrases think_blocks "
    "truncated",
    "Hostile output": "hack_list_many hack_degenerate hack_restate code_injection resource_bomb "
    "long_output bad_unicode_bytes",
}
_PLACES = ("Where the answer stands", "Hostile output")
"""Here the end of the completion is shown: where the answer stands is what is tested."""
_LENIENT = AnswerPolicy(last_expression=True)
_COMFORTABLE, _LIMIT = 44, 64


@dataclass(frozen=True, slots=True)
class _Example:
    kind: str
    reference: str
    shown: str
    label: bool
    why: str

    @property
    def awkward(self) -> tuple[bool, bool]:
        """Sorts what a table cell cannot show well to the end."""
        text = self.reference + self.shown
        odd = any(sign in text for sign in "|`") or not text.replace("\u200b", "\0").isprintable()
        return odd, max(len(self.reference), len(self.shown)) > _COMFORTABLE


def main() -> None:
    """Rewrites the page if its table is out of date."""
    page = PAGE.read_text("utf-8")
    PAGE.write_text(place(page, math_examples()), "utf-8")
    page = ADAPTERS_PAGE.read_text("utf-8")
    ADAPTERS_PAGE.write_text(place(page, conformance(), name="adapters"), "utf-8")


def conformance() -> str:
    """Returns what each adapter carries and how it was checked, as a table."""
    lines = [
        "| framework | adapter | version | shape of the call | a missing score | within a row "
        "| advantages | checked |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for line in CONFORMANCE.read_text("utf-8").splitlines():
        row = json.loads(line)
        tested = importlib.import_module(row["adapter"]).TESTED
        cells = (
            row["framework"],
            f"`{row['adapter']}`: `{row['plug']}`",
            tested,
            row["shape"],
            row["missing"],
            row["tokens"] or "–",
            row["advantages"] or "–",
            row["checked"],
        )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def place(page: str, text: str, *, name: str = "math") -> str:
    """Returns the page with the text between its markers."""
    begin, end = f"<!-- fixtures:{name}:begin -->", f"<!-- fixtures:{name}:end -->"
    before, _, rest = page.partition(begin)
    after = rest.partition(end)[2]
    return f"{before}{begin}\n{text}\n{end}{after}"


def math_examples() -> str:
    """Returns two accepted rows and a rejected one of each kind, as tables."""
    rows = [json.loads(line) for line in FIXTURES.read_text("utf-8").splitlines()]
    kinds: dict[str, list[_Example]] = {}
    for row in rows:
        example = _example(row)
        kinds.setdefault(example.kind, []).append(example)
    return "\n\n".join(_table(title, names.split(), kinds) for title, names in GROUPS.items())


def _table(title: str, names: Iterable[str], kinds: dict[str, list[_Example]]) -> str:
    what = "end of the completion" if title in _PLACES else "answer"
    lines = [f"**{title}**", "", f"| kind | reference | {what} | | why |", "|---|---|---|---|---|"]
    for name in names:
        for number, one in enumerate(_chosen(kinds[name])):
            cells = (
                "" if number else name.replace("_", " "),
                _code(one.reference),
                _code(one.shown),
                "accepted" if one.label else "rejected",
                _escaped(one.why),
            )
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _chosen(examples: list[_Example]) -> Iterator[_Example]:
    ordered = sorted(examples, key=lambda example: example.awkward)
    yield from [e for e in ordered if e.label][:2]
    yield from [e for e in ordered if not e.label][:1]


def _example(row: dict[str, object]) -> _Example:
    completion = row.get("completion")
    repeat = row.get("repeat")
    if completion is None and isinstance(repeat, dict):
        count, unit, close = repeat["count"], str(repeat["unit"]), str(repeat.get("close", ""))
        middle = f" {repeat.get('middle', '')} {close} ×{count} " if close else " "
        completion = f"{repeat['before']}{unit} ×{count}{middle}{repeat['after']}"
    text = str(completion)
    kind = str(row["kind"])
    places = {name for title in _PLACES for name in GROUPS[title].split()}
    span = None if kind in places else extract_answer(text, _LENIENT).text
    shown = text.strip() if span is None else _bare(span)
    return _Example(kind, str(row["reference"]), shown, bool(row["label"]), str(row["why"]))


def _bare(answer: str) -> str:
    """Returns an answer without the words and the dollar signs around its formula."""
    answer = answer.removeprefix("The final answer is ")
    inner = answer.removeprefix("$").removesuffix("$")
    return answer if "$" in inner else inner


def _code(text: str) -> str:
    text = " ".join(_visible(text).split())
    if len(text) > _LIMIT:
        text = f"…{text[-_LIMIT:]}"
    if "|" not in text and "`" not in text:
        return f"`{text}`" if text else "(nothing)"
    # In a table, both signs end a code span for some readers of Markdown and not for others.
    return f"<code>{_escaped(text)}</code>"


def _visible(text: str) -> str:
    return "".join(c if c.isprintable() or c in " \n" else f"\\u{ord(c):04x}" for c in text)


def _escaped(text: str) -> str:
    return re.sub(r"[&<>|`*_\\\[\]$~]", lambda found: f"&#{ord(found[0])};", text)


if __name__ == "__main__":
    main()
