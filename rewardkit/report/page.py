"""The report page: one HTML file that needs nothing else."""

import base64
import hashlib
import importlib.resources
import os
import string
from pathlib import Path

from rewardkit.errors import ConfigError, DataError
from rewardkit.report.charts import Bar, Marker, bar_chart, format_seconds, latency_chart
from rewardkit.report.collect import ReportData, collect_report
from rewardkit.report.markup import escape
from rewardkit.report.sections import comparison_section, examples_section
from rewardkit.report.visible import visible_text
from rewardkit.report.words import REASON_WORDS
from rewardkit.scoring.statistics import ReasonTally, Tally, ValueTally
from rewardkit.verdict import Reason

__all__ = ["asset", "page_policy", "render_report", "write_page", "write_report"]


def write_report(
    scored: Path | str,
    out: Path | str,
    *,
    against: Path | str | None = None,
    id_column: str | None = None,
) -> None:
    """Writes the report of a scored file; it appears under its name only when it is complete.

    Args:
        scored: a file that `rewardkit score` wrote.
        out: the HTML file.
        against: another scored file, to compare with.
        id_column: match rows by this column; None for place and content.

    Raises:
        DataError: a file cannot be read or written, or the two have no row in common.
        ConfigError: `out` is one of the scored files.
    """
    target = Path(out)
    for source in (scored, against):
        if source is not None and target.exists() and target.samefile(source):
            raise ConfigError(f"{out} is a scored file, which the report would replace: name .html")
    write_page(target, render_report(collect_report(scored, against=against, id_column=id_column)))


def write_page(target: Path, page: str) -> None:
    """Writes a page; it appears under its name only when it is complete.

    Raises:
        DataError: it cannot be written.
    """
    part = target.with_name(f"{target.name}.part")
    try:
        part.write_bytes(page.encode())
        os.replace(part, target)
    except OSError as error:
        raise DataError(f"{target}: cannot be written: {error.strerror or error}.") from None
    finally:
        part.unlink(missing_ok=True)


def render_report(data: ReportData) -> str:
    """Returns the page. The same data gives the same bytes.

    No text of a model, a row or a file name is trusted: all is escaped, and the page's policy lets
    only its own script run.
    """
    script = asset("report.js")
    # One pass: a "$" in what is put in is never read as a placeholder.
    return string.Template(asset("report.html")).substitute(
        policy=page_policy(script),
        style=asset("report.css"),
        script=script,
        name=escape(data.name),
        title=escape(visible_text(data.name)),
        settings=_settings(data.settings),
        headline=_headline(data.tally),
        reasons=_reasons(data.tally),
        latency=_latency(data.tally),
        tiers=_tiers(data.tally),
        reward=_reward(data.tally),
        comparison=comparison_section(data.comparison) if data.comparison else "",
        examples=examples_section(data),
    )


def page_policy(script: str) -> str:
    """Returns the policy of a page on which this script runs and nothing else, and no request."""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return (
        "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; "
        f"script-src 'sha256-{digest}'"
    )


def asset(name: str) -> str:
    """Returns a file of the folder `assets`."""
    folder = importlib.resources.files("rewardkit.report") / "assets"
    return (folder / name).read_text(encoding="utf-8")


_DEFAULTS = {
    "completion column": "completion",
    "reference column": "reference",
    "bad rows": "stop",
}


def _settings(settings: dict[str, str]) -> str:
    shown = {
        name: value
        for name, value in settings.items()
        if value not in ("null", "") and _DEFAULTS.get(name) != value
    }
    return "".join(
        f'<li><span class="key">{escape(name.removeprefix("option "))}</span> {escape(value)}</li>'
        for name, value in shown.items()
    )


def _headline(tally: Tally) -> str:
    cards = [_pass_card(tally)]
    cards.append(_card("Rows", f"{tally.rows:,}", f"{tally.passed:,} passed"))
    if tally.mean_score is not None and tally.score_sum != tally.passed:
        cards.append(_card("Mean score", f"{tally.mean_score:.3f}", "with partial credit"))
    share = f"{100 * tally.abstained / tally.rows:.1f} % of the rows" if tally.rows else ""
    cards.append(_card("Abstained", f"{tally.abstained:,}", f"{share}, outside every rate"))
    p50, p99 = (format_seconds(tally.latency.quantile(q)) for q in (0.5, 0.99))
    longest = format_seconds(tally.latency.longest_s)
    cards.append(_card("Latency, median", p50, f"p99 {p99}, longest {longest}"))
    return "".join(cards)


def _card(name: str, value: str, note: str, extra: str = "") -> str:
    return (
        f'<div class="card"><h2>{name}</h2><p class="figure">{value}</p>{extra}'
        f'<p class="note">{note}</p></div>'
    )


def _pass_card(tally: Tally) -> str:
    if tally.pass_rate is None:
        return _card("Pass rate", "none", "nothing was decided")
    interval = tally.pass_interval
    low, high = 100 * interval.low, 100 * interval.high
    gauge = (
        f'<div class="gauge" role="img" aria-label="95 % interval from {low:.1f} to {high:.1f} %">'
        f'<span class="gauge-range" style="left:{low:.2f}%;width:{max(high - low, 0.4):.2f}%">'
        "</span>"
        f'<span class="gauge-point" style="left:{100 * tally.pass_rate:.2f}%"></span></div>'
    )
    note = f"95 % interval {low:.1f} to {high:.1f} % of {tally.decided:,} decided rows"
    return _card("Pass rate", f"{100 * tally.pass_rate:.1f} %", note, gauge)


def _bar(name: str, tally: ReasonTally) -> Bar:
    failed = tally.count - tally.passed - tally.abstained
    return Bar(visible_text(name), tally.passed, failed, tally.abstained)


def _reasons(tally: Tally) -> str:
    bars = [_bar(name, reason) for name, reason in tally.reasons_by_count()]
    rows = "".join(
        f'<tr><th scope="row"><code>{escape(name)}</code>'
        f'<span class="words">{REASON_WORDS[Reason(name)]}</span></th>'
        f"<td>{reason.count:,}</td><td>{100 * reason.count / tally.rows:.1f} %</td>"
        f"<td>{format_seconds(reason.latency.quantile(0.5))}</td>"
        f"<td>{format_seconds(reason.latency.quantile(0.99))}</td></tr>"
        for name, reason in tally.reasons_by_count()
    )
    return (
        bar_chart("Rows by reason", bars, axis="rows") + '<div class="scroll"><table>'
        "<thead><tr><th>reason</th><th>rows</th><th>share</th><th>median</th><th>p99</th></tr>"
        f"</thead><tbody>{rows}</tbody></table></div>"
    )


def _latency(tally: Tally) -> str:
    if not tally.latency.longest_s:
        return '<p class="note">The verdicts carry no times.</p>'
    markers = [
        Marker("p50", tally.latency.quantile(0.5)),
        Marker("p99", tally.latency.quantile(0.99)),
    ]
    return latency_chart("Latency of the verdicts", tally.latency.bars(per_decade=10), markers)


def _reward(tally: Tally) -> str:
    """Returns the panel of a reward's components; nothing where a verifier graded."""
    if not tally.components:
        return ""
    rows = "".join(
        f'<tr><th scope="row"><code>{escape(visible_text(name))}</code></th>{_values(values)}</tr>'
        for name, values in tally.components.items()
    )
    return (
        '<section class="panel wide"><h2>Components of the reward</h2>'
        '<div class="scroll"><table><thead><tr><th>component</th><th>mean</th><th>smallest</th>'
        f"<th>largest</th><th>missing</th></tr></thead><tbody>{rows}"
        f'<tr><th scope="row">total</th>{_values(tally.totals)}</tr></tbody></table></div>'
        "</section>"
    )


def _values(values: ValueTally) -> str:
    shown = values.to_dict()
    cells = ("–" if (v := shown[name]) is None else f"{v:.4g}" for name in ("mean", "min", "max"))
    return "".join(f"<td>{cell}</td>" for cell in cells) + f"<td>{values.missing:,}</td>"


def _tiers(tally: Tally) -> str:
    if not tally.tiers:
        return '<p class="note">The verdicts name no tiers.</p>'
    tiers = sorted(tally.tiers.items(), key=lambda item: (-item[1].count, item[0]))[:20]
    return bar_chart("Rows by tier", [_bar(name, tier) for name, tier in tiers], axis="rows")
