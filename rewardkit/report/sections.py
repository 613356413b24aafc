"""The two long parts of the page: examples of each reason, and where two scorings disagree."""

from rewardkit.report.charts import format_seconds
from rewardkit.report.collect import ReportData
from rewardkit.report.compare import Comparison, Disagreement
from rewardkit.report.examples import Example, ShortVerdict
from rewardkit.report.excerpt import Excerpt
from rewardkit.report.markup import escape, excerpt_markup
from rewardkit.report.words import REASON_WORDS
from rewardkit.verdict import Reason

__all__ = ["comparison_section", "examples_section"]

_OUTCOMES = ("passed", "partial", "failed", "abstained")


def examples_section(data: ReportData) -> str:
    """Returns the examples of each reason, each one folded."""
    return "".join(
        _reason_group(reason, tally.count, data.examples.get(reason, []))
        for reason, tally in data.tally.reasons_by_count()
    )


def _reason_group(reason: str, count: int, examples: list[Example]) -> str:
    cards = "".join(_example_card(example) for example in examples)
    return (
        f'<section class="group" data-group><h3><code>{escape(reason)}</code> '
        f'<span class="note">{REASON_WORDS[Reason(reason)]} {len(examples):,} of {count:,} rows'
        f"</span></h3>{cards}</section>"
    )


def _badge(verdict: ShortVerdict) -> str:
    score = "–" if verdict.score is None else f"{verdict.score:.3g}"
    return f'<span class="badge {verdict.outcome}">{score}</span>'


def _example_card(example: Example) -> str:
    verdict = example.verdict
    answer = _line(verdict.answer) if verdict.answer else '<span class="note">no answer</span>'
    return (
        f'<details class="example" data-outcome="{verdict.outcome}"><summary>{_badge(verdict)}'
        f'<span class="answer">{answer}</span><span class="against">'
        f'<span class="note">reference</span> {_line(example.reference)}</span>'
        f'<span class="row-id">row {escape(_place(example.row_id))}</span></summary>'
        f'<div class="body">{_verdict_list(verdict)}{_texts(example)}</div></details>'
    )


def _place(row_id: str) -> str:
    return row_id.partition(":")[0]


def _line(excerpt: Excerpt, limit: int = 90) -> str:
    """Returns the beginning of a short text, for a summary line."""
    text = " ".join("".join(segment.text for segment in excerpt.segments).split())
    return escape(text if len(text) <= limit else f"{text[:limit]}…")


def _texts(example: Example) -> str:
    parts = []
    if example.prompt is not None:
        parts.append(("Prompt", example.prompt))
    parts += [("Completion", example.completion), ("Reference", example.reference)]
    return "".join(
        f'<h4>{name} <span class="note">{excerpt.length:,} characters</span></h4>'
        f'<pre dir="auto">{excerpt_markup(excerpt)}</pre>'
        for name, excerpt in parts
    )


def _verdict_list(verdict: ShortVerdict) -> str:
    score = "none: could not decide" if verdict.score is None else f"{verdict.score:.6g}"
    rows = [
        ("score", score),
        ("reason", f"<code>{escape(verdict.reason)}</code>"),
        ("graded", excerpt_markup(verdict.answer) if verdict.answer else "nothing"),
        ("why", escape(verdict.detail)),
        ("tier", escape(verdict.tier)),
        ("reward", escape(verdict.components)),
        ("time", format_seconds(verdict.seconds) if verdict.seconds else ""),
    ]
    items = "".join(f"<dt>{name}</dt><dd>{value}</dd>" for name, value in rows if value)
    return f"<dl>{items}</dl>"


def comparison_section(comparison: Comparison) -> str:
    """Returns how far two scorings agree, and a sample of the rows on which they do not."""
    interval = comparison.interval
    rest = []
    if comparison.only_here:
        rest.append(f"{comparison.only_here:,} rows are only in this file")
    if comparison.only_there:
        rest.append(f"{comparison.only_there:,} only in the other")
    sample = "".join(_disagreement_card(item) for item in comparison.disagreements)
    differing = comparison.matched - comparison.agreed
    listed = (
        f'<h3>Disagreements <span class="note">{len(comparison.disagreements):,} of {differing:,}'
        f"</span></h3>{sample}"
    )
    return (
        f'<section class="panel wide"><h2>Against {escape(comparison.name)}</h2>'
        f'<p class="figure">{100 * comparison.agreement:.1f} % <span class="note">agree: '
        f"{comparison.agreed:,} of {comparison.matched:,} rows, 95 % interval "
        f"{100 * interval.low:.1f} to {100 * interval.high:.1f} %"
        f"{'; ' + ', '.join(rest) if rest else ''}</span></p>"
        f"{_confusion_table(comparison)}{listed if differing else ''}</section>"
    )


def _confusion_table(comparison: Comparison) -> str:
    shown = [o for o in _OUTCOMES if any(o in cell for cell in comparison.cells)]
    head = "".join(f'<th scope="col">{outcome}</th>' for outcome in shown)
    body = "".join(
        f'<tr><th scope="row">{here}</th>'
        + "".join(_confusion_cell(comparison, here, there) for there in shown)
        + "</tr>"
        for here in shown
    )
    return (
        '<div class="scroll"><table class="confusion"><caption>Rows by outcome: this file down, '
        f"{escape(comparison.name)} across</caption><thead><tr><td></td>{head}</tr></thead>"
        f"<tbody>{body}</tbody></table></div>"
    )


def _confusion_cell(comparison: Comparison, here: str, there: str) -> str:
    count = comparison.cells.get((here, there), 0)
    kind = "agree" if here == there else "differ" if count else ""
    return f'<td class="{kind}">{count:,}</td>'


def _disagreement_card(item: Disagreement) -> str:
    here, there = item.example.verdict, item.other
    return (
        f'<details class="example" data-outcome="{here.outcome}"><summary>'
        f'<span>{_badge(here)} <span class="note">against</span> {_badge(there)}</span>'
        f'<span class="answer">{_line(here.answer) if here.answer else "no answer"}</span>'
        f'<span class="against"><span class="note">reference</span> '
        f"{_line(item.example.reference)}</span>"
        f'<span class="row-id">row {escape(_place(item.example.row_id))}</span></summary>'
        f'<div class="body"><div class="sides"><div><h4>This file</h4>{_verdict_list(here)}</div>'
        f"<div><h4>The other</h4>{_verdict_list(there)}</div></div>"
        f"{_texts(item.example)}</div></details>"
    )
