"""Small scored files for the tests of labels, the desk and the noise commands."""

import json
import random

from rewardkit.datasets.rows import hash_content

__all__ = ["write_scored"]


def write_scored(path, *, rows=200, rho0=0.1, rho1=0.2, seed=3, abstain=0):
    """Writes a scored file of a verifier with these error rates; column `right` is the truth."""
    chance = random.Random(seed)
    with path.open("w") as file:
        for i in range(rows + abstain):
            right = chance.random() < 0.5
            accepted = chance.random() < (1 - rho1 if right else rho0)
            score = None if i >= rows else float(accepted)
            completion, reference = f"completion {i}: \\boxed{{{i}}}", str(i if right else i + 1)
            row = {
                "id": i,
                "prompt": f"What is {i}?",
                "completion": completion,
                "reference": reference,
                "source": ["web", "book"][i % 2],
                "length": len(completion) + 40 * (not accepted),
                "right": right,
                "row_id": f"{i}:{hash_content(completion, reference)}",
                "score": score,
                "verdict": {
                    "score": score,
                    "reason": "engine_failure"
                    if score is None
                    else ["mismatch", "match"][accepted],
                    "answer": str(i),
                    "detail": "SECRET VERDICT",
                },
            }
            file.write(json.dumps(row) + "\n")
    return path
