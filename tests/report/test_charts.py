"""Charts are well-formed, labelled, and stay inside their frames."""

import xml.etree.ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewardkit.report.charts import Bar, Marker, bar_chart, format_seconds, latency_chart, nice_step
from rewardkit.scoring import LatencyHistogram

counts = st.integers(0, 10**9)
names = st.text("abc<>&\"'_é漢", min_size=1, max_size=40)


def check_inside(svg: str) -> ET.Element:
    root = ET.fromstring(svg)
    _, _, width, height = map(float, root.attrib["viewBox"].split())
    for rect in root.iter("rect"):
        x, y, w, h = (float(rect.attrib[k]) for k in ("x", "y", "width", "height"))
        assert 0 <= x <= x + w <= width + 0.1
        assert 0 <= y <= y + h <= height + 0.1
    for text in root.iter("text"):
        assert 0 <= float(text.attrib["x"]) <= width
        assert 0 <= float(text.attrib["y"]) <= height
    return root


@given(st.lists(st.builds(Bar, names, counts, counts, counts), max_size=20))
def test_bars_are_inside_and_name_their_counts(bars):
    root = check_inside(bar_chart("Rows by <reason>", bars, axis="rows"))
    assert root.findtext("title") == "Rows by <reason>"
    texts = [text.text for text in root.iter("text")]
    assert "rows" in texts
    for bar in bars:
        assert f"{bar.total:,}" in texts


@given(st.lists(st.floats(0, 5000), min_size=1, max_size=50))
def test_a_latency_chart_is_inside_and_names_its_quantiles(seconds):
    histogram = LatencyHistogram()
    for one in seconds:
        histogram.add(one)
    markers = [Marker("p50", histogram.quantile(0.5)), Marker("p99", histogram.quantile(0.99))]
    root = check_inside(latency_chart("Latency", histogram.bars(per_decade=10), markers))
    texts = [text.text or "" for text in root.iter("text")]
    assert [text for text in texts if text.startswith("p50 ")]
    assert [text for text in texts if text.startswith("p99 ")]
    drawn = sum(
        int(tip.text.split(": ")[1].split()[0].replace(",", ""))
        for rect in root.iter("rect")
        if (tip := rect.find("title")) is not None
    )
    assert drawn == len(seconds)


@given(st.floats(0, 1e12))
def test_an_axis_has_a_few_round_ticks(largest):
    step = nice_step(largest)
    assert step >= 1
    assert largest / step <= 4
    assert str(step).strip("0") in ("1", "2", "5")


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "–"),
        (1e-7, "100 ns"),
        (1e-6, "1 µs"),
        (9.996e-4, "1 ms"),
        (0.0123, "12.3 ms"),
        (0.9999, "1 s"),
        (1234.5, "1,234 s"),
    ],
)
def test_latencies_have_three_digits_and_a_unit(seconds, text):
    assert format_seconds(seconds) == text
