"""The reasons of verdicts in words, for the readers of a report."""

from collections.abc import Mapping

from rewardkit.verdict import Reason

__all__ = ["REASON_WORDS"]

REASON_WORDS: Mapping[Reason, str] = {
    Reason.MATCH: "The answer agrees with the reference.",
    Reason.PARTIAL: "Some of what was asked holds.",
    Reason.MISMATCH: "The answer was read and is not the reference.",
    Reason.NO_ANSWER: "Nothing in the completion commits to an answer.",
    Reason.AMBIGUOUS: "Several different final answers, where one was asked for.",
    Reason.TRUNCATED: "The completion stops inside its reasoning or inside its answer.",
    Reason.UNPARSABLE: "An answer was found and cannot be read.",
    Reason.UNEVALUATED: "The answer restates the task instead of solving it.",
    Reason.TIMEOUT: "The time limit ran out.",
    Reason.MEMORY: "The memory limit was reached.",
    Reason.OUTPUT_LIMIT: "More output than the limit allows.",
    Reason.SIZE_LIMIT: "The answer is larger, deeper or costlier than the limits.",
    Reason.CRASH: "The submitted program died.",
    Reason.FORBIDDEN: "The submission uses something that is not allowed.",
    Reason.CHEATED: "The submission tried to pass without doing the work.",
    Reason.UNPROVED: "Neither shown right nor shown wrong.",
    Reason.ENGINE_MISSING: "The engine that would decide is not installed.",
    Reason.ENGINE_FAILURE: "The engine that would decide broke.",
}
