"""ChoiceVerifier: multiple choice and label sets, without a model."""

import time
from collections.abc import Mapping, Sequence
from typing import Any

from rewardkit.completion import Completion, completion_text
from rewardkit.errors import ConfigError, InvalidReferenceError
from rewardkit.verdict import Json, Reason, Verdict
from rewardkit.verifier import Verifier
from rewardkit.verifiers._names import check_keys
from rewardkit.verifiers.choice.reading import normalise_option, read_choice

__all__ = ["ChoiceVerifier"]


class ChoiceVerifier(Verifier):
    """Grades a choice among options, by letter, by text or by both; exactly one commitment counts.

    Args:
        labels: the options where rows bring none of their own, as the three labels of natural
            language inference; each is its own key.
        partial: where several options are right, the score is the F1 of the chosen ones instead of
            1 or 0.

    Raises:
        ConfigError: fewer than two labels, or two that read the same.

    >>> nli = ChoiceVerifier(labels=("entailment", "neutral", "contradiction"))
    >>> nli.verify("The label is: **neutral**", "neutral").score
    1.0
    >>> reference = {"answer": "B", "choices": {"A": "Oslo", "B": "Riga"}}
    >>> ChoiceVerifier().verify("So the answer is (B) Riga.", reference).score
    1.0
    """

    name = "choice"

    def __init__(self, *, labels: Sequence[str] = (), partial: bool = False) -> None:
        if isinstance(labels, str):
            raise ConfigError("labels is a list of texts")
        self.labels = tuple(labels)
        if self.labels and len({normalise_option(one) for one in self.labels}) < max(
            2, len(self.labels)
        ):
            raise ConfigError("labels are two or more, and no two of them read the same")
        self.partial = partial

    def verify(self, completion: Completion, reference: Json, /, **context: Any) -> Verdict:
        """Returns the verdict on the option that a completion commits to.

        Args:
            completion: anything at all.
            reference: a key, an option's text or a list of them; or an object with `answer` and
                `choices`: an object key -> option, or a list, whose keys are A, B, C, …
            context: `choices`, where the reference has none.

        Raises:
            InvalidReferenceError: there are no options, or the answer is none of them.
        """
        started = time.perf_counter()
        choices, right = self._read(reference, context)
        found = read_choice(completion_text(completion), choices, several=len(right) > 1)
        seconds = time.perf_counter() - started
        if not found.chosen:
            return Verdict(
                0.0,
                found.reason or Reason.NO_ANSWER,
                answer=found.span,
                detail=f"choice: {found.detail}",
                seconds=seconds,
            )
        both = len(set(found.chosen) & set(right))
        score = float(set(found.chosen) == set(right))
        if self.partial and len(right) > 1:
            score = 2 * both / (len(set(found.chosen)) + len(right))
        said = ", ".join(found.chosen)
        return Verdict(
            score,
            Reason.MATCH if score == 1 else Reason.PARTIAL if score else Reason.MISMATCH,
            answer=found.span,
            detail=f"choice: {said}; right is {', '.join(right)}",
            evidence={"tier": "choice", "chosen": list(found.chosen)},
            seconds=seconds,
        )

    def check_reference(self, reference: Json, /) -> list[str]:
        """Returns what to know about a reference before training.

        Raises:
            InvalidReferenceError: the answer is none of its options.
        """
        has_own = isinstance(reference, Mapping) and reference.get("choices") is not None
        if not has_own and not self.labels:
            return ["it has no options of its own: each row needs a column `choices`"]
        choices, _ = self._read(reference, {})
        texts = [normalise_option(one) for one in choices.values()]
        return ["two options read the same"] if len(set(texts)) < len(texts) else []

    def _read(
        self, reference: Json, context: Mapping[str, Any]
    ) -> tuple[dict[str, str], tuple[str, ...]]:
        given: object = context.get("choices")
        answer: Json = reference
        if isinstance(reference, Mapping):
            check_keys("a reference", reference, ("answer", "choices"))
            answer = reference.get("answer")
            given = reference.get("choices", given)
        choices = _read_choices(given) if given else {one: one for one in self.labels}
        if len(choices) < 2:
            raise InvalidReferenceError(
                "there are no options: give `choices` in the reference or as a column, or labels"
            )
        answers = answer if isinstance(answer, list) else [answer]
        right = tuple(dict.fromkeys(_find(one, choices) for one in answers))
        if not right:
            raise InvalidReferenceError("the answer is an empty list")
        return choices, right


def _read_choices(value: object) -> dict[str, str]:
    if isinstance(value, Mapping):
        # The form of data sets such as ARC: parallel lists.
        labels, texts = value.get("label"), value.get("text")
        if isinstance(labels, list | tuple) and isinstance(texts, list | tuple):
            return {str(key): str(one) for key, one in zip(labels, texts, strict=False)}
        return {str(key): str(one) for key, one in value.items()}
    if isinstance(value, list | tuple) and len(value) <= 26:
        return {chr(65 + i): str(one) for i, one in enumerate(value)}
    raise InvalidReferenceError("`choices` is an object key -> option, or a list of options")


def _find(answer: Json, choices: Mapping[str, str]) -> str:
    """Returns the key of a right option that is given by key or by text."""
    text = "" if answer is None else str(answer).strip()
    for key in choices:
        if key.casefold() == text.casefold():
            return key
    words = normalise_option(text)
    same = [key for key, one in choices.items() if words and normalise_option(one) == words]
    if len(same) != 1:
        raise InvalidReferenceError(
            f"the answer {text[:80]!r} is none of the options {', '.join(choices)}"
        )
    return same[0]
