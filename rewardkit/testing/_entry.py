"""What hypothesis calls when it is imported: `st.from_type` knows verdicts and frames then."""

__all__ = ["register"]


def register() -> None:
    """Registers strategies for the types of rewardkit."""
    from hypothesis import strategies as st

    from rewardkit.testing.frames import Frame
    from rewardkit.testing.strategies import frames, verdicts
    from rewardkit.verdict import Verdict

    st.register_type_strategy(Verdict, verdicts())
    st.register_type_strategy(Frame, frames())
