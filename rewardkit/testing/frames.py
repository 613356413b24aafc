"""How a completion declares its answer: boxed, tagged, by a phrase, as JSON, bare."""

import re
from dataclasses import dataclass

__all__ = ["FRAMES", "Frame", "frames_of_source"]


@dataclass(frozen=True, slots=True)
class Frame:
    """A completion around its answer: `before + opening + answer + closing + after`."""

    name: str
    opening: str
    closing: str
    before: str = ""
    after: str = ""

    def declare(self, answer: str) -> str:
        """Returns the declaration alone."""
        return f"{self.opening}{answer}{self.closing}"

    def fill(self, answer: str) -> str:
        """Returns a completion with this answer."""
        return f"{self.before}{self.declare(answer)}{self.after}"

    def around(self, *answers: str, between: str = "\nWait, that is not it.\n") -> str:
        """Returns a completion that declares several answers, in order."""
        return f"{self.before}{between.join(self.declare(a) for a in answers)}{self.after}"


_THINK = "<think>\nLet us work it out step by step.\n</think>\n"
_WORK = "Let us work it out step by step.\n"

FRAMES: tuple[Frame, ...] = (
    Frame("boxed", "\\boxed{", "}", f"{_WORK}So we get $", "$"),
    Frame("answer tag", "<answer>", "</answer>", _WORK),
    Frame("answer tag after thinking", "<answer>", "</answer>", _THINK),
    Frame("answer tag on lines after thinking", "<answer>\n", "\n</answer>", _THINK),
    Frame("boxed after thinking", "\\boxed{", "}", f"{_THINK}So we get $", "$"),
    Frame("boxed in a tag", "<answer>\\boxed{", "}</answer>", _THINK),
    Frame("hashes", "#### ", "", _WORK),
    Frame("answer line", "Answer: ", "", _WORK),
    Frame("final answer line", "Final Answer: ", "", _WORK),
    Frame("the answer is", "The answer is ", ".", _WORK),
    Frame("the final answer is", "The final answer is ", ".", _WORK),
    Frame("the answer is, in brackets", "The answer is (", ").", _WORK),
    Frame("the answer is, in dollars", "The answer is $", "$.", _WORK),
    Frame("bold answer", "**Answer:** ", "", _WORK),
    Frame("ANSWER line", "ANSWER: ", "", _WORK),
    Frame("after thinking", "", "", _THINK),
    Frame("JSON", '{"answer": "', '"}'),
    Frame("JSON number", '{"answer": ', "}"),
    Frame("double brackets", "[[", "]]", _WORK),
    Frame("fenced", "```\n", "\n```", _WORK),
    Frame("result line", "Result: ", "", _WORK),
    Frame("bare", "", ""),
)
"""Ways in which models and prompts declare an answer; the most structured come first."""

_TAG = re.compile(r"<([A-Za-z][\w-]{0,20})>")
_LABEL = re.compile(r"['\"]([A-Za-z][A-Za-z ]{1,20}:)")
_NOT_ANSWERS = {"think", "thinking", "reasoning", "thought", "scratchpad", "analysis"}


def frames_of_source(source: str) -> list[Frame]:
    """Returns frames for the tags and labels that a reward's module spells out.

    >>> [frame.name for frame in frames_of_source("re.search('<final>(.*)</final>', text)")]
    ['tag final', 'tag final after thinking']
    """
    made: list[Frame] = []
    for tag in dict.fromkeys(_TAG.findall(source)):
        if tag.lower() in _NOT_ANSWERS or tag == "answer" or f"</{tag}" not in source:
            continue
        made.append(Frame(f"tag {tag}", f"<{tag}>", f"</{tag}>", _WORK))
        made.append(Frame(f"tag {tag} after thinking", f"<{tag}>", f"</{tag}>", _THINK))
    for label in dict.fromkeys(_LABEL.findall(source)):
        made.append(Frame(f"label {label}", f"{label} ", "", _WORK))
    return made[:12]
