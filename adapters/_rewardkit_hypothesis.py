"""What hypothesis calls when it is imported: `st.from_type` knows verdicts and frames then.

A module of its own at the top: each import of hypothesis pays for it, so it loads next to nothing.
"""

from typing import Any

__all__ = ["register"]


def register() -> None:
    """Registers strategies for the types of rewardkit; they are made when they are first used."""
    from hypothesis import strategies as st

    from rewardkit.verdict import Verdict

    def verdicts(_: Any) -> "st.SearchStrategy[Verdict]":
        from rewardkit.testing import strategies

        return strategies.verdicts()

    st.register_type_strategy(Verdict, verdicts)
