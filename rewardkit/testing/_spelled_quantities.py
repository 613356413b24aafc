"""Quantities with units, dates, times and angles in two ways, and others."""

from fractions import Fraction

from hypothesis import strategies as st

from rewardkit.testing._spelled import Spelled, spelled

__all__ = ["MONTHS", "angles", "dates", "quantities", "times"]

MONTHS = (
    "January February March April May June July August September October November December".split()
)

_UNITS = {
    "length": {"mm": 1, "cm": 10, "m": 1000, "km": 10**6},
    "mass": {"g": 1, "kg": 1000},
    "time": {"seconds": 1, "minutes": 60, "hours": 3600, "min": 60, "h": 3600, "days": 86400},
    "volume": {"mL": 1, "cL": 10, "L": 1000, "liters": 1000, "cm^3": 1, "m^3": 10**6},
    "area": {"cm^2": 1, "m^2": 10**4, "square meters": 10**4, "km^2": 10**10},
    "money": {"cents": 1, "dollars": 100, "USD": 100},
    "feet": {"inches": 1, "ft": 12, "feet": 12, "yards": 36},
}


@st.composite
def quantities(draw: st.DrawFn) -> Spelled:
    """Returns quantities in different units."""
    random = draw(st.randoms(use_true_random=False))
    table = _UNITS[draw(st.sampled_from(sorted(_UNITS)))]
    base = Fraction(draw(st.integers(1, 5000)), draw(st.sampled_from([1, 2, 4, 5])))

    def ways(base: Fraction) -> list[str]:
        written = []
        for unit, size in table.items():
            amount = base / size
            text = f"\\frac{{{amount.numerator}}}{{{amount.denominator}}}"
            text = str(amount) if amount.denominator == 1 else text
            written += (
                [f"{text}\\text{{ {unit}}}", f"{text} \\mathrm{{{unit}}}"]
                if unit[:2].isalpha() and len(unit) > 1
                else [f"{text}\\text{{ {unit}}}"]
            )
        return written

    factor = draw(st.sampled_from([Fraction(2), Fraction(10), Fraction(1, 10), Fraction(101, 100)]))
    return spelled(ways(base), ways(base * factor), random)


@st.composite
def dates(draw: st.DrawFn) -> Spelled:
    """Returns dates."""
    random = draw(st.randoms(use_true_random=False))
    day = draw(st.dates())

    def ways(year: int, month: int, day: int) -> list[str]:
        name, year_text = MONTHS[month - 1], f"{year:04d}"
        ending = {1: "st", 2: "nd", 3: "rd"}.get(day % 10 if day not in (11, 12, 13) else 0, "th")
        written = [
            f"{name} {day}, {year_text}",
            f"{day} {name} {year_text}",
            f"{year_text}-{month:02d}-{day:02d}",
        ]
        written += [f"{name[:3]} {day}, {year_text}", f"{name} {day}{ending}, {year_text}"]
        written += [
            f"the {day}{ending} of {name} {year_text}",
            f"\\text{{{name} {day}, {year_text}}}",
        ]
        return written

    others = [(day.year, day.month % 12 + 1, day.day), (day.year % 9999 + 1, day.month, day.day)]
    others.append((day.year, day.month, day.day % 28 + 1))
    other = draw(st.sampled_from([o for o in others if o != (day.year, day.month, day.day)]))
    return spelled(ways(day.year, day.month, day.day), ways(*other), random)


@st.composite
def times(draw: st.DrawFn) -> Spelled:
    """Returns times of day."""
    random = draw(st.randoms(use_true_random=False))
    hour, minute = draw(st.tuples(st.integers(0, 23), st.integers(0, 59)))

    def ways(hour: int, minute: int) -> list[str]:
        half, twelve = ("AM", "PM")[hour >= 12], (hour - 1) % 12 + 1
        written = [f"{twelve}:{minute:02d} {half}", f"{twelve}:{minute:02d} {half.lower()}"]
        written.append(f"{twelve}:{minute:02d}\\text{{ {half[0].lower()}.m.}}")
        return [*written, f"{hour}:{minute:02d}"] if hour > 12 else written

    other = draw(st.sampled_from([((hour + 12) % 24, minute), (hour, (minute + 7) % 60)]))
    return spelled(ways(hour, minute), ways(*other), random)


@st.composite
def angles(draw: st.DrawFn) -> Spelled:
    """Returns angles in degrees and radians."""
    random = draw(st.randoms(use_true_random=False))
    degrees = draw(st.integers(1, 719))

    def ways(degrees: int) -> list[str]:
        share = Fraction(degrees, 180)
        return [
            f"{degrees}^\\circ",
            f"{degrees}^{{\\circ}}",
            f"{degrees}\\text{{ degrees}}",
            f"{degrees}°",
            f"\\frac{{{share.numerator}\\pi}}{{{share.denominator}}}\\text{{ radians}}",
        ]

    return spelled(ways(degrees), ways(degrees + draw(st.sampled_from([1, 90, 360]))), random)
