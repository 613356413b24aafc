"""What is graded in every place where users put a verifier; importable by child processes."""

import asyncio
import multiprocessing
import os
import sys
from concurrent.futures import ThreadPoolExecutor

from rewardkit import MathVerifier

ROWS = [
    ("So it is \\boxed{\\frac{1}{2}}.", "0.5"),
    ("So it is \\boxed{0.49}.", "0.5"),
    ("So it is \\boxed{(x+1)^2}.", "x^2+2x+1"),
    ("So it is \\boxed{(x+1)^2}.", "x^2+2x+2"),
    ("So it is \\boxed{\\{2, 1\\}}.", "\\{1, 2\\}"),
    ("So it is \\boxed{x > 3}.", "(3, \\infty)"),
    ("So it is \\boxed{\\sin^2 x}.", "1 - \\cos^2 x"),
    ("So it is \\boxed{5 \\text{ km}}.", "5000\\text{ m}"),
    ("So it is \\boxed{9^{9^{9^9}}}.", "5"),
    ("So it is", "5"),
    ("<think>\\boxed{5}", "5"),
    ("So it is \\boxed{\\int x^2\\,dx}.", "\\frac{x^3}{3}"),
    ("So it is \\boxed{\\int x^2\\,dx}.", "x^2"),
]
"""The last two need the symbolic tier."""

EXPECTED = [1.0, 0.0, 1.0, 0.0, 1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0]

Graded = list[tuple[float | None, str, str]]


def make_verifier() -> MathVerifier:
    return MathVerifier(workers=1, timeout_s=60.0)


def grade(verifier: MathVerifier) -> Graded:
    verdicts = [verifier.verify(completion, reference) for completion, reference in ROWS]
    return [(v.score, str(v.reason), v.detail) for v in verdicts]


def grade_with_a_fresh_one(*_: object) -> Graded:
    with make_verifier() as verifier:
        return grade(verifier)


def grade_in_threads(verifier: MathVerifier, count: int) -> list[Graded]:
    with ThreadPoolExecutor(count) as threads:
        return list(threads.map(grade, [verifier] * count))


async def grade_in_asyncio(verifier: MathVerifier) -> Graded:
    verdicts = await asyncio.gather(*(verifier.averify(c, r) for c, r in ROWS))
    return [(v.score, str(v.reason), v.detail) for v in verdicts]


def grade_in_a_forked_child(verifier: MathVerifier) -> Graded:
    """Forks after the verifier was used, so that the child inherits its pools."""
    grade(verifier)
    receiver, sender = multiprocessing.Pipe(duplex=False)
    child = os.fork()
    if child == 0:
        try:
            sender.send(grade(verifier))
            verifier.close()
        finally:
            os._exit(0)
    sender.close()
    try:
        return receiver.recv()
    finally:
        os.waitpid(child, 0)


def grade_in_daemons(start_method: str) -> list[Graded]:
    """Grades in the workers of a multiprocessing.Pool, which may have no children of Python's."""
    context = multiprocessing.get_context(start_method)
    with context.Pool(2) as pool:
        return pool.map(grade_with_a_fresh_one, range(2))


def grade_pickled_in_a_child(verifier: MathVerifier) -> Graded:
    context = multiprocessing.get_context("spawn")
    with context.Pool(1) as pool:
        return pool.apply(grade, (verifier,))


def grade_in_ray() -> list[Graded]:
    import ray

    ray.init(
        "local", num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR"
    )

    @ray.remote
    class Actor:
        def __init__(self) -> None:
            self.verifier = make_verifier()

        def grade(self) -> Graded:
            return grade(self.verifier)

    actors = [Actor.remote() for _ in range(2)]
    graded = ray.get([actor.grade.remote() for actor in actors])
    ray.shutdown()
    return graded


if __name__ == "__main__":
    import json

    sys.stdout.write(json.dumps(grade_in_ray()))
