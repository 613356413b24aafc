"""The audit as one HTML file that needs nothing else."""

import importlib.resources
import string

from rewardkit.audit.finding import Finding
from rewardkit.audit.report import AuditReport
from rewardkit.noise import wilson_interval
from rewardkit.report.markup import escape
from rewardkit.report.visible import visible_text

__all__ = ["render_page"]

_PAGE = string.Template("""<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy"
 content="default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'">
<title>Audit of $title</title><style>$style</style></head><body>
<header><h1>Audit of $name</h1><p class="note">$settings</p></header>
<main><section class="cards">$cards</section>
<section><h2>Findings</h2>$findings</section>
<section><h2>Error rates over generated families</h2>$rates</section>
<section><h2>Properties</h2>$properties</section>
<section><h2>What this says</h2><p>A property that holds held on the cases that were generated, no more.
$unseen</p>$notes</section></main></body></html>
""")


def render_page(report: AuditReport) -> str:
    """Returns the page. No text of a reward or a completion is trusted: all is escaped."""
    style = importlib.resources.files("rewardkit.report") / "assets" / "report.css"
    return _PAGE.substitute(
        title=escape(visible_text(report.reward)),
        name=escape(report.reward),
        style=style.read_text(encoding="utf-8"),
        settings=escape(
            f"kind {report.kind}, profile {report.profile}, {report.calls:,} calls in {report.seconds:.1f} s"
        ),
        cards=_cards(report),
        findings="".join(map(_finding, report.findings)) or "<p>None.</p>",
        rates=_rates(report),
        properties=_properties(report),
        unseen=_unseen(report),
        notes="".join(f"<p>{escape(note)}</p>" for note in report.notes),
    )


def _cards(report: AuditReport) -> str:
    held = sum(state == "holds" for state in report.checked.values())
    shown = (
        ("Grade", report.grade()),
        ("Findings", f"{len(report.findings)}"),
        ("Properties that held", f"{held} of {len(report.checked)}"),
    )
    return "".join(
        f'<div class="card"><h2>{name}</h2><p class="figure">{value}</p></div>'
        for name, value in shown
    )


def _finding(finding: Finding) -> str:
    slug, _, cause = finding.root_cause.partition(": ")
    gain = (
        ""
        if finding.gain is None
        else f"<p>Pays {100 * finding.gain:.0f} % of what a right answer gets.</p>"
    )
    also = f"<p>Also: {escape(', '.join(finding.symptoms))}</p>" if finding.symptoms else ""
    test = f"<h4>A test for it</h4><pre>{escape(finding.test)}</pre>" if finding.test else ""
    return (
        f'<details class="example" open><summary><span class="badge failed">{finding.level.value}</span> '
        f'<code>{escape(slug)}</code> <span class="note">{escape(finding.property)}</span></summary>'
        f'<div class="body"><p>{escape(cause)}</p><pre dir="auto">{escape(finding.example)}</pre>'
        f"{gain}{also}{test}</div></details>"
    )


def _rates(report: AuditReport) -> str:
    if not report.rates:
        return "<p>Not measured for this reward.</p>"
    rows = ""
    for rate in report.rates:
        interval = wilson_interval(rate.errors, rate.cases)
        share = f"{100 * rate.errors / rate.cases:.0f} %" if rate.cases else "–"
        rows += (
            f'<tr><th scope="row">{escape(rate.family)}</th><td>{rate.kind}</td><td>{share}</td>'
            f"<td>{100 * interval.low:.0f} to {100 * interval.high:.0f} %</td><td>{rate.cases}</td></tr>"
        )
    return (
        '<div class="scroll"><table><thead><tr><th>family</th><th>error</th><th>rate</th>'
        f"<th>95 % interval</th><th>cases</th></tr></thead><tbody>{rows}</tbody></table></div>"
    )


def _properties(report: AuditReport) -> str:
    rows = "".join(
        f'<tr><th scope="row"><code>{escape(name)}</code></th><td>{escape(state)}</td></tr>'
        for name, state in report.checked.items()
    )
    return f'<div class="scroll"><table><tbody>{rows}</tbody></table></div>'


def _unseen(report: AuditReport) -> str:
    if report.unseen is None:
        return ""
    unseen = report.unseen
    return (
        f"{unseen.seen} sorts of tricks were paid; by Good and Turing the next attempt of these sorts is "
        f"paid by another one with a chance of {100 * unseen.next_new:.1f} % (95 % interval "
        f"{100 * unseen.interval.low:.1f} to {100 * unseen.interval.high:.1f} %)."
    )
