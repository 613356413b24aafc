"""Text to markup that is safe whatever the text holds."""

import html

from rewardkit.report.excerpt import Excerpt, Segment
from rewardkit.report.visible import split_visible

__all__ = ["escape", "excerpt_markup"]


def escape(text: str) -> str:
    """Returns text as markup; hidden characters are shown by their code points.

    >>> escape("</script>")
    '&lt;/script&gt;'
    """
    return "".join(
        f'<span class="hidden" title="{html.escape(piece.name)}">{piece.code}</span>'
        if piece.name
        else html.escape(piece.text)
        for piece in split_visible(text)
    )


def excerpt_markup(excerpt: Excerpt) -> str:
    """Returns an excerpt as markup: the graded span marked, what is left out counted."""
    return "".join(_segment_markup(segment) for segment in excerpt.segments)


def _segment_markup(segment: Segment) -> str:
    if segment.kind == "gap":
        return f'<span class="gap">… {segment.left_out:,} characters left out …</span>'
    if segment.kind == "graded":
        return f"<mark>{escape(segment.text)}</mark>"
    return escape(segment.text)
