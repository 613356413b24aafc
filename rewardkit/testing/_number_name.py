"""Whole numbers in English words."""

__all__ = ["number_name"]

_SMALL = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    "sixteen seventeen eighteen nineteen"
).split()
_TENS = ["", "", *"twenty thirty forty fifty sixty seventy eighty ninety".split()]
_SCALES = ("", " thousand", " million", " billion", " trillion")


def number_name(number: int) -> str:
    """Returns a number in words, with "and" and commas as the British write it.

    Args:
        number: at least 0 and below 10^15.

    >>> number_name(2_000_105), number_name(1_021)
    ('two million, one hundred and five', 'one thousand and twenty-one')
    """
    groups, rest = [], number
    while rest:
        rest, group = divmod(rest, 1000)
        groups.append(group)
    parts = [f"{_below_thousand(n)}{_SCALES[i]}" for i, n in enumerate(groups) if n][::-1]
    if not parts:
        return _SMALL[0]
    if len(parts) > 1 and 0 < groups[0] < 100:  # this group is joined by "and", others by a comma
        return f"{', '.join(parts[:-1])} and {parts[-1]}"
    return ", ".join(parts)


def _below_thousand(number: int) -> str:
    hundreds, rest = divmod(number, 100)
    small = _SMALL[rest] if rest < 20 else _TENS[rest // 10]
    if rest > 20 and rest % 10:
        small += f"-{_SMALL[rest % 10]}"
    if not hundreds:
        return small
    return f"{_SMALL[hundreds]} hundred" + (f" and {small}" if rest else "")
