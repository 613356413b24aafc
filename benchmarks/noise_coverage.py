"""Bias, error and coverage of the estimators of error rates, in worlds whose rates are known.

python -m benchmarks.noise_coverage [--seeds N] [--write-docs]

`crowd-kit` and `ppi-python` are used where they are installed. The latter installs a package named
`tests`, which hides this repository's; put it into a folder of its own and name that in PYTHONPATH.
"""

import argparse
import importlib.util
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field

import numpy as np

from benchmarks._noise_worlds import NoiseWorld, draw_online, draw_votes, worlds
from benchmarks._tables import Section, Table, write_sections
from rewardkit.noise import (
    AppealsEstimator,
    Audit,
    Estimate,
    Rates,
    TwoSidedAudit,
    estimate_rates,
    pool_partially,
    prediction_powered_pass_rate,
    rates_without_labels,
    rogan_gladen,
)

__all__ = ["main"]

ROWS = 20_000
VERIFIERS = [(0.05, 0.1), (0.05, 0.1), (0.05, 0.1)]
METHODS = ("wilson", "clopper_pearson", "jeffreys")


@dataclass(slots=True)
class Score:
    """How estimates of one rate did over many draws."""

    truth: float
    estimates: list[Estimate] = field(default_factory=list)
    peers: list[float] = field(default_factory=list)
    """What another package said on the same draws, where there is one."""

    @property
    def bias(self) -> float:
        return float(np.mean([one.value for one in self.estimates])) - self.truth

    @property
    def rmse(self) -> float:
        return _rmse([one.value for one in self.estimates], self.truth)

    @property
    def coverage(self) -> float:
        held = [one.low - 1e-12 <= self.truth <= one.high + 1e-12 for one in self.estimates]
        return float(np.mean(held))

    def ratio(self) -> str:
        """Returns our error over the peer's on the draws that both saw; a dash without a peer."""
        if not self.peers:
            return "–"
        ours = [one.value for one in self.estimates[: len(self.peers)]]
        return f"{_rmse(ours, self.truth) / _rmse(self.peers, self.truth):.3f}"


def _rmse(values: Sequence[float], truth: float) -> float:
    return float(np.sqrt(np.mean((np.array(values) - truth) ** 2)))


def main() -> None:
    """Prints the tables, and puts them into the documentation where asked."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=300, help="draws of each world")
    parser.add_argument("--write-docs", action="store_true")
    options = parser.parse_args()
    makers = (audits_table, strata_table, pass_rate_table, latent_table)
    with ProcessPoolExecutor() as pool:
        made = [pool.submit(make, options.seeds) for make in makers]
        online = online_table(max(options.seeds * 2, 100)).to_markdown()
        coverage = "\n\n".join(table.result().to_markdown() for table in made)
    print(f"{coverage}\n\n{online}")
    if options.write_docs:
        write_sections([Section("noise-coverage", coverage), Section("noise-online", online)])


def audits_table(seeds: int) -> Table:
    """Returns coverage and error of audits, uniform and by verdict."""
    rows = []
    for world in worlds():
        for by_verdict in (False, True):
            for labels in (200, 1000):
                rows.append(_audit_row(world, by_verdict, labels, seeds))
    columns = ("world, rho0/rho1", "audit", "labels", "RMSE")
    return Table(
        "Audits",
        (*columns, *(f"coverage, {name}" for name in METHODS)),
        tuple(rows),
        f"{seeds} draws of {ROWS:,} rows; two figures are rho0 and rho1. By verdict, half of the "
        "labels are of accepted rows. Clopper-Pearson is meant to cover more than 95 %.",
    )


def _audit_row(world: NoiseWorld, by_verdict: bool, labels: int, seeds: int) -> tuple[str, ...]:
    rng = np.random.default_rng(labels)
    scores = {m: (Score(world.rho0), Score(world.mean_rho1)) for m in METHODS}
    for _ in range(seeds):
        audit = _draw(rng, world, labels, by_verdict)
        for method, (fp, fn) in scores.items():
            rates = estimate_rates(audit, method=method)
            fp.estimates.append(rates.rho0)
            fn.estimates.append(rates.rho1)
    first = scores["wilson"]
    return (
        world.name,
        "by verdict" if by_verdict else "uniform",
        f"{labels:,}",
        f"{first[0].rmse:.3f} / {first[1].rmse:.3f}",
        *(f"{fp.coverage:.3f} / {fn.coverage:.3f}" for fp, fn in scores.values()),
    )


def _draw(rng: np.random.Generator, world: NoiseWorld, labels: int, by_verdict: bool) -> Audit:
    first, *others = world.draw(rng, rows=ROWS, labels=labels, by_verdict=by_verdict)
    for other in others:
        first = first + other
    return first


def strata_table(seeds: int) -> Table:
    """Returns how each format's own rate is found: alone, as one rate for all, and pooled."""
    rows = []
    for world in (worlds()[3], NoiseWorld("six formats alike, .05/.20", 0.5, 0.05, (0.2,) * 6)):
        for labels in (200, 1000):
            rng = np.random.default_rng(labels + 1)
            scores = {k: [Score(r) for r in world.rho1] for k in ("own", "one", "pooled")}
            for _ in range(seeds):
                audits = world.draw(rng, rows=ROWS, labels=labels, by_verdict=False)
                whole = audits[0]
                for other in audits[1:]:
                    whole = whole + other
                pooled = pool_partially({str(k): audit for k, audit in enumerate(audits)})
                for k, audit in enumerate(audits):
                    scores["own"][k].estimates.append(estimate_rates(audit).rho1)
                    scores["one"][k].estimates.append(estimate_rates(whole).rho1)
                    scores["pooled"][k].estimates.append(pooled[str(k)].rho1)
            errors = (np.sqrt(np.mean([s.rmse**2 for s in column])) for column in scores.values())
            held = np.mean([s.coverage for s in scores["pooled"]])
            rows.append((world.name, f"{labels:,}", *(f"{e:.3f}" for e in errors), f"{held:.3f}"))
    columns = ("world", "labels", "each alone", "one for all", "partially pooled", "coverage of it")
    return Table("rho1 by format, RMSE", columns, tuple(rows))


def pass_rate_table(seeds: int) -> Table:
    """Returns how the true pass rate is found from 500 labels and all verdicts."""
    powered = _powered_peer()
    rows = []
    for world in worlds()[:3]:
        rng = np.random.default_rng(77)
        scores = {k: Score(world.pass_rate) for k in ("labels alone", "Rogan-Gladen", "PPI")}
        for _ in range(seeds):
            audit = _draw(rng, world, 500, by_verdict=False)
            accept = world.pass_rate * (1 - world.mean_rho1) + (1 - world.pass_rate) * world.rho0
            rest = ROWS - audit.labelled
            accepted = int(rng.binomial(rest, accept))
            scores["labels alone"].estimates.append(Estimate.exact(audit.right / audit.labelled))
            everyone = accepted + audit.accepted_labelled
            scores["Rogan-Gladen"].estimates.append(
                rogan_gladen(everyone, ROWS, estimate_rates(audit))
            )
            scores["PPI"].estimates.append(prediction_powered_pass_rate(audit, accepted, rest))
            if powered is not None:
                scores["PPI"].peers.append(powered(audit, accepted, rest))
        for name, score in scores.items():
            held = "–" if name == "labels alone" else f"{score.coverage:.3f}"
            figures = (f"{score.bias:+.4f}", f"{score.rmse:.4f}", held, score.ratio())
            rows.append((world.name, name, *figures))
    columns = ("world", "estimator", "bias", "RMSE", "coverage", "to ppi-python")
    return Table("The true pass rate, 500 labels of 20,000 rows", columns, tuple(rows))


def _powered_peer() -> Callable[[Audit, int, int], float] | None:
    if importlib.util.find_spec("ppi_py") is None:
        return None
    from ppi_py import ppi_mean_pointestimate

    def peer(audit: Audit, accepted: int, rest: int) -> float:
        counts = (
            audit.accepted_right,
            audit.accepted_wrong,
            audit.rejected_right,
            audit.rejected_wrong,
        )
        truth, said = (np.repeat(kind, counts) for kind in ([1.0, 0, 1, 0], [1.0, 1, 0, 0]))
        others = np.repeat([1.0, 0.0], [accepted, rest - accepted])
        return float(np.ravel(ppi_mean_pointestimate(truth, said, others))[0])

    return peer


def latent_table(seeds: int) -> Table:
    """Returns how three verifiers' rates are found without a label."""
    rows = []
    fit = _crowd_peer()
    for name, shared, count in (
        ("independent", 0.0, 5000),
        ("shared difficulty", 1.0, 5000),
        ("shared difficulty", 1.0, 50_000),
    ):
        rng = np.random.default_rng(count)
        scores = (Score(VERIFIERS[0][0]), Score(VERIFIERS[0][1]))
        for seed in range(seeds):
            votes = draw_votes(rng, count, VERIFIERS, shared=shared)
            [first, *_] = rates_without_labels(votes.tolist(), resamples=60).verifiers
            for score, estimate in zip(scores, (first.rho0, first.rho1), strict=True):
                score.estimates.append(estimate)
            if fit is not None and seed < 10 and count == 5000:
                for score, value in zip(scores, fit(votes), strict=True):
                    score.peers.append(value)
        rows.append(
            (
                name,
                f"{count:,}",
                " / ".join(f"{s.truth + s.bias:.3f}" for s in scores),
                " / ".join(f"{s.rmse:.3f}" for s in scores),
                " / ".join(f"{s.coverage:.3f}" for s in scores),
                " / ".join(s.ratio() for s in scores),
            )
        )
    columns = ("errors", "rows", "mean estimate", "RMSE", "coverage", "to crowd-kit")
    note = f"{seeds} draws with 60 resamples each; the ratio is over the first 10."
    return Table("Three verifiers without labels, true rates .05/.10", columns, tuple(rows), note)


def _crowd_peer() -> Callable[[np.ndarray], tuple[float, float]] | None:
    if importlib.util.find_spec("crowdkit") is None:
        return None
    import pandas as pd
    from crowdkit.aggregation import DawidSkene

    def peer(votes: np.ndarray) -> tuple[float, float]:
        rows, verifiers = votes.shape
        frame = pd.DataFrame(
            {
                "task": np.repeat(np.arange(rows), verifiers),
                "worker": np.tile(np.arange(verifiers), rows),
                "label": votes.ravel().astype(int),
            }
        )
        errors = DawidSkene(n_iter=1000, tol=1e-9).fit(frame).errors_
        return float(errors.loc[(0, 1), 0]), float(errors.loc[(0, 0), 1])

    return peer


def online_table(steps: int) -> Table:
    """Returns the published appeals estimator beside the two-sided audit."""
    cases = (
        ("no false positives, perfect judge", 0.0, (0.0, 0.0)),
        ("rho0 = .1, perfect judge", 0.1, (0.0, 0.0)),
        ("rho0 = .3, perfect judge", 0.3, (0.0, 0.0)),
        ("judge errs .05/.10", 0.1, (0.05, 0.1)),
        ("judge errs .10/.20", 0.1, (0.1, 0.2)),
    )
    rows = []
    for name, rho0, errors in cases:
        rng = np.random.default_rng(5)
        judge = Rates.exact(*errors)
        appeals, audit = AppealsEstimator(share=0.1), TwoSidedAudit()
        known = TwoSidedAudit(judge=judge)
        seen: list[tuple[float, ...]] = []
        for step, counts in enumerate(draw_online(rng, steps, rho0=rho0, rho1=0.2, judge=errors)):
            appeals = appeals.update(
                accepted=counts["accepted"],
                appealed=counts["checked_rejected"],
                flipped=counts["right_rejected"],
            )
            audit, known = audit.update(**counts), known.update(**counts)
            if step >= 50:
                plain, calibrated = audit.rates(), known.rates()
                seen.append(
                    (
                        appeals.rho1 or 0.0,
                        plain.rho1.value,
                        calibrated.rho1.value,
                        calibrated.rho0.value,
                    )
                )
        means, deviations = np.mean(seen, 0), np.std(seen, 0)
        rows.append((name, *(f"{m:.3f} ± {d:.3f}" for m, d in zip(means, deviations, strict=True))))
    columns = (
        "case",
        "appeals: rho1",
        "two-sided: rho1",
        "with the judge's rates: rho1",
        "and rho0",
    )
    note = f"Means and standard deviations over {steps - 50} steps."
    return Table("Two estimators while training runs, rho1 = .2", columns, tuple(rows), note)


if __name__ == "__main__":
    main()
