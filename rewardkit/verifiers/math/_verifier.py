"""MathVerifier: is the final answer of a completion the reference?"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from rewardkit.answer import AnswerPolicy, AnswerSpan, extract_answer
from rewardkit.completion import Completion, completion_text
from rewardkit.errors import ConfigError
from rewardkit.verdict import Json, Reason, Verdict
from rewardkit.verifier import Verifier
from rewardkit.verifiers.math._decision import Tolerance
from rewardkit.verifiers.math._judge import Judgement, judge
from rewardkit.verifiers.math._nodes import Listing, Seq
from rewardkit.verifiers.math._reference import MathReference, compile_reference, squeeze

__all__ = ["MathVerifier"]


@dataclass(frozen=True)
class MathVerifier(Verifier):
    name: str = "math"
    mode: Literal["strict", "lenient"] = "strict"
    decimal_comma: bool = False
    timeout_s: float = 2.0

    def verify(self, completion: Completion, reference: Json, /, **context: Any) -> Verdict:
        started = time.perf_counter()
        compiled = compile_reference(reference)
        text = completion_text(completion)
        policy = AnswerPolicy(last_expression=self.mode == "lenient")
        span = extract_answer(text, policy)
        answer = span.text
        if compiled.arity > 1 and len(span.rivals) == compiled.arity:
            node = compiled.readings[0] if compiled.readings else None
            joined = ", ".join(squeeze(r) for r in span.rivals)
            if isinstance(node, Seq) and node.opening in ("(", "["):
                joined = f"{node.opening}{joined}{node.closing}"
            answer = joined
        if answer is None:
            return Verdict(0.0, span.reason or Reason.NO_ANSWER, detail=span.detail, seconds=time.perf_counter() - started)
        found = judge(compiled, answer, decimal_comma=self.decimal_comma, task=text[max(0,span.start-4000):span.start])
        score = 1.0 if found.decision.same else 0.0 if found.decision.same is False else None
        return Verdict(score, found.reason, answer=answer[:2000], detail=f"{found.decision.tier}: {found.decision.why}", evidence={"tier": found.decision.tier}, seconds=time.perf_counter() - started)
