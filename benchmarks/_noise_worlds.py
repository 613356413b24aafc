"""Worlds whose error rates are known, and audits drawn from them."""

from dataclasses import dataclass

import numpy as np

from rewardkit.noise import Audit

__all__ = ["NoiseWorld", "draw_online", "draw_votes", "worlds"]


@dataclass(frozen=True, slots=True)
class NoiseWorld:
    """A verifier on rows of one or two formats."""

    name: str
    pass_rate: float
    rho0: float
    rho1: tuple[float, ...]
    """By format; the formats are equally frequent and independent of the truth."""

    @property
    def mean_rho1(self) -> float:
        """The false-negative rate over all formats."""
        return float(np.mean(self.rho1))

    def draw(
        self, rng: np.random.Generator, *, rows: int, labels: int, by_verdict: bool
    ) -> list[Audit]:
        """Returns an audit of each format; their sum is an audit of all rows.

        By verdict, half of the labels go to accepted rows and half to rejected ones.
        """
        formats = len(self.rho1)
        sizes = rng.multinomial(rows, [1 / formats] * formats)
        cells = [
            self._verdicts(rng, int(n), rho1) for n, rho1 in zip(sizes, self.rho1, strict=True)
        ]
        if by_verdict:
            return _audits(
                cells,
                _split(rng, cells, (0, 1), labels // 2),
                _split(rng, cells, (2, 3), labels // 2),
            )
        flat = rng.multivariate_hypergeometric(np.array(cells).ravel(), labels)
        return [Audit(*map(int, counts)) for counts in flat.reshape(-1, 4)]

    def _verdicts(self, rng: np.random.Generator, rows: int, rho1: float) -> tuple[int, ...]:
        right = int(rng.binomial(rows, self.pass_rate))
        hit, hacked = int(rng.binomial(right, 1 - rho1)), int(rng.binomial(rows - right, self.rho0))
        return hit, hacked, right - hit, rows - right - hacked


def _split(
    rng: np.random.Generator, cells: list[tuple[int, ...]], columns: tuple[int, int], labels: int
) -> np.ndarray:
    there = np.array([[cell[c] for c in columns] for cell in cells])
    drawn = rng.multivariate_hypergeometric(there.ravel(), min(labels, int(there.sum())))
    return drawn.reshape(-1, 2)


def _audits(
    cells: list[tuple[int, ...]], accepted: np.ndarray, rejected: np.ndarray
) -> list[Audit]:
    return [
        Audit(
            *map(int, (*a, *r)),
            accepted_total=cell[0] + cell[1],
            rejected_total=cell[2] + cell[3],
        )
        for cell, a, r in zip(cells, accepted, rejected, strict=True)
    ]


def worlds() -> list[NoiseWorld]:
    """Returns the worlds of the tables."""
    return [
        NoiseWorld("half right, .05/.10", 0.5, 0.05, (0.1,)),
        NoiseWorld("hard, .02/.20", 0.2, 0.02, (0.2,)),
        NoiseWorld("easy, .05/.05", 0.8, 0.05, (0.05,)),
        NoiseWorld("two formats, .05/(.05, .45)", 0.5, 0.05, (0.05, 0.45)),
    ]


def draw_votes(
    rng: np.random.Generator, rows: int, rates: list[tuple[float, float]], *, shared: float
) -> np.ndarray:
    """Returns (rows, verifiers) verdicts of which half of the rows are right.

    A share `shared` of the errors on one half of the rows moves to the other, the hard half, for
    all verifiers alike: the rates stay the same, and errors meet on the same rows.
    """
    right, hard = rng.random(rows) < 0.5, rng.random(rows) < 0.5
    factor = np.where(hard, 1 + shared, 1 - shared)
    votes = []
    for rho0, rho1 in rates:
        error = rng.random(rows) < np.where(right, rho1, rho0) * factor
        votes.append(right ^ error)
    return np.array(votes).T


def draw_online(
    rng: np.random.Generator, steps: int, *, rho0: float, rho1: float, judge: tuple[float, float]
) -> list[dict[str, int]]:
    """Returns the counts of each training step: 1,024 rollouts, pass rate 0.4, a tenth checked."""
    rollouts, pass_rate, share = 1024, 0.4, 0.1

    def check(right: int, wrong: int) -> tuple[int, int]:
        seen, other = rng.binomial(right, share), rng.binomial(wrong, share)
        found = rng.binomial(seen, 1 - judge[1]) + rng.binomial(other, judge[0])
        return int(seen + other), int(found)

    counts = []
    for _ in range(steps):
        right = int(rng.binomial(rollouts, pass_rate))
        hit, hacked = int(rng.binomial(right, 1 - rho1)), int(rng.binomial(rollouts - right, rho0))
        checked_accepted, right_accepted = check(hit, hacked)
        checked_rejected, right_rejected = check(right - hit, rollouts - right - hacked)
        counts.append(
            {
                "accepted": hit + hacked,
                "rejected": rollouts - hit - hacked,
                "checked_accepted": checked_accepted,
                "right_accepted": right_accepted,
                "checked_rejected": checked_rejected,
                "right_rejected": right_rejected,
            }
        )
    return counts
