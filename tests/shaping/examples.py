"""One configured shaper of each kind, and a batch that each of them can read."""

from hypothesis import strategies as st

from rewardkit.shaping import (
    DC_COT,
    Abstention,
    Acceleration,
    ClarifyPause,
    CosineLength,
    DifficultyLength,
    EllipticalBonus,
    GroupLength,
    HitRate,
    IrisReward,
    JsonFormat,
    LanguageConsistency,
    LinearLength,
    LongestPathPenalty,
    MajorityLabel,
    NeighbourDistance,
    OverlongPenalty,
    RepetitionPenalty,
    SelfConfidence,
    Solvability,
    TagConstraints,
    TagFormat,
    ThinkFormat,
    TokenDiscount,
    ToolTurns,
)

OF_A_COMPLETION = {
    "think": ThinkFormat(),
    "tags": TagFormat(tags=("think", "answer")),
    "tags share": TagFormat(tags=("think", "answer"), credit="share"),
    "json": JsonFormat(schema={"type": "object"}, parsed=0.25),
    "json final": JsonFormat(where="final"),
    "json fence": JsonFormat(where="fence"),
    "linear": LinearLength(free=10, limit=40, unit="characters"),
    "cosine": CosineLength(max_length=20, exceeded=-2.0),
    "overlong": OverlongPenalty(max_length=20, buffer=8, unit="words"),
    "discount": TokenDiscount(gamma=0.9),
    "repetition tokens": RepetitionPenalty(ngram=2),
    "repetition words": RepetitionPenalty(unit="words", max_penalty=-0.5),
    "repetition characters": RepetitionPenalty(unit="characters"),
    "language": LanguageConsistency(scripts=("LATIN",)),
    "language final": LanguageConsistency(scripts=("CYRILLIC", "CJK"), part="final"),
    "tool turns": ToolTurns(mean=2, deviation=1.5, wrong_mean=4),
    "clarify": ClarifyPause(),
    "acceleration": Acceleration(scale=2.0),
    "longest path": LongestPathPenalty(max_length=20, buffer=8, correct=None, grammar=DC_COT),
    "abstention": Abstention.at_confidence(0.8),
    "abstention answerable": Abstention(answerable="answerable"),
    "constraints": TagConstraints(
        tags=("plan", "check"), required=("plan",), order=("plan", "check")
    ),
    "iris": IrisReward(),
    "solvability": Solvability(),
}

OF_A_GROUP = {
    "group length": GroupLength(unit="characters"),
    "difficulty": DifficultyLength(unit="words"),
    "confidence": SelfConfidence(),
    "confidence value": SelfConfidence(kind="value"),
    "majority": MajorityLabel(),
    "elliptical": EllipticalBonus(),
    "neighbours": NeighbourDistance(neighbours=2, group=None, pool=((1.0, 0.0),)),
    "hit rate": HitRate(signal="hard"),
}

ALL = {**OF_A_COMPLETION, **OF_A_GROUP}

PIECES = [
    "", " ", "\n", "a", "я", "字", "\0", "\ud800", "'", '"', "\\", "{", "}", "[", "]", "```", ":",
    "<think>", "</think>", "<answer>", "</answer>", "<plan>", "</plan>", "<check>", "</check>",
    "<Parallel>", "</Parallel>", "<Thread>", "</Thread>", "<spawn_workers>", "</spawn_workers>",
    "<worker_1>", "</worker_1>", "<tool_call>", "I don't know", "not enough information", "4", "5",
    "The answer is 4.", "\\boxed{4}", '{"answer": 4}', "```json\n", "\n```\n", "2 + 2 = 4\n",
]  # fmt: skip

texts = st.lists(st.sampled_from(PIECES), max_size=12).map("".join)
"""Soup of all that some shaper looks for."""

chats = st.lists(
    st.fixed_dictionaries(
        {"role": st.sampled_from(["assistant", "user", "tool"]), "content": texts | st.none()},
        optional={"tool_calls": st.none() | st.lists(st.just({"name": "f"}), max_size=2)},
    ),
    max_size=4,
)

completions = st.one_of(texts, texts, chats, st.none())


@st.composite
def rows(draw):
    """One completion, and one entry of every column that some shaper reads."""
    share = st.floats(0, 1)
    return draw(completions), {
        "prompt": draw(st.sampled_from(["p", "q"])),
        "completion_ids": draw(st.lists(st.integers(0, 3), max_size=30)),
        "correct": draw(st.sampled_from([0.0, 0.5, 1.0])),
        "premise_missing": draw(st.booleans()),
        "answerable": draw(st.booleans()),
        "steps": draw(st.lists(texts, max_size=3)),
        "solve_rate": draw(share),
        "answer_gaps": draw(st.lists(share, max_size=4)),
        "features": draw(st.sampled_from([[1.0, 0.0], [0.0, 1.0], [3.0, -4.0], [-1.0, 1e-9]])),
    }


def columns_of(batch):
    """The columns of a batch of rows."""
    names = batch[0][1] if batch else {}
    return {name: [columns[name] for _, columns in batch] for name in names}


batches = st.lists(rows(), min_size=1, max_size=6)
