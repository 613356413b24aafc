"""The labelling desk without its page: which row comes next, what is known, what is exported."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from rewardkit.errors import ConfigError
from rewardkit.labels import Judgement, Label, LabelJournal, LabelTally, ScoredRows, tally_labels
from rewardkit.noise import (
    Agreement,
    Audit,
    AuditPlan,
    Channel,
    Rates,
    estimate_channel,
    estimate_rates,
    plan_audit,
)
from rewardkit.serve.content import RowContent

__all__ = ["DeskStatus", "LabelDesk"]

_PILOT = 10
"""Labels of each verdict before the plan follows what they show."""


@dataclass(frozen=True, slots=True)
class DeskStatus:
    """What the labels say so far."""

    labels: dict[str, int]
    """Rows that each annotator has judged."""
    rates: Rates | None
    """None while no right or no wrong row is labelled."""
    missing: str
    """Why there are no rates yet; empty where there are."""
    needed: int | None
    """Labels still to give for the wanted half-width; None while nothing is known."""
    unsure: int
    disputed: int
    agreement: Agreement | None


class LabelDesk:
    """Hands out rows by the sampling plan, and takes labels.

    Rows of a verdict come in random order. How many come of each verdict follows the plan that
    reaches the half-width with the fewest labels, made anew from what the labels show. A share of a
    second annotator's rows are those that another has judged, so that agreement can be measured.

    Args:
        rows: the scored file, in short.
        contents: its rows to label by verdict, in the order of drawing.
        journal: where labels go; those in it count.
        half_width: wanted of both rates' intervals, in (0, 0.5).
        confidence: of the intervals, in (0, 1).
        overlap: the share of a further annotator's rows that another has judged, in [0, 1].
        clock: the time of a label, in ISO 8601.

    Raises:
        ConfigError: an option is outside its range.
        DataError: the journal is of another file.
    """

    def __init__(
        self,
        rows: ScoredRows,
        contents: Mapping[bool, Sequence[RowContent]],
        journal: LabelJournal,
        *,
        half_width: float = 0.02,
        confidence: float = 0.95,
        overlap: float = 0.25,
        clock: Callable[[], str] = lambda: datetime.now(UTC).isoformat(timespec="seconds"),
    ) -> None:
        if not 0.0 <= overlap <= 1.0:
            raise ConfigError(f"overlap is a share, in [0, 1], not {overlap}")
        self._rows = rows
        self._queues = {verdict: [one.row_id for one in contents[verdict]] for verdict in contents}
        self._contents = {one.row_id: one for queue in contents.values() for one in queue}
        self._journal = journal
        self._half_width = half_width
        self._confidence = confidence
        self._overlap = overlap
        self._clock = clock
        self._open: dict[str, str] = {}
        self._tally = tally_labels(rows, journal.labels)
        # Refuses a half-width or a confidence that is none, before the first label.
        plan_audit(
            accept_rate=0.5, rho0=0.0, rho1=0.0, half_width=half_width, confidence=confidence
        )

    def next_row(self, annotator: str) -> RowContent | None:
        """Returns the row that this person judges next, or None where none is left.

        The same row comes again until it is judged.
        """
        given = self._given()
        mine = given.get(annotator, [])
        if (open_id := self._open.get(annotator)) is not None and open_id not in mine:
            return self._contents[open_id]
        row_id = self._shared_row(mine, given) or self._new_row(annotator, given)
        if row_id is None:
            self._open.pop(annotator, None)
            return None
        self._open[annotator] = row_id
        return self._contents[row_id]

    def last_row(self, annotator: str) -> RowContent | None:
        """Returns the row that this person judged last, to judge it anew; None before the first."""
        mine = [row_id for row_id in self._given().get(annotator, []) if row_id in self._contents]
        return self._contents[mine[-1]] if mine else None

    def give(self, row_id: str, judgement: Judgement, annotator: str) -> RowContent:
        """Saves a label, and returns its row with the verdict that was hidden.

        Raises:
            ConfigError: there is no such row, or the annotator has no name.
            DataError: the label cannot be saved.
        """
        if row_id not in self._contents:
            raise ConfigError(f"no row {row_id!r} is to be labelled here")
        if not annotator.strip():
            raise ConfigError("an annotator has a name")
        self._journal.append(Label(row_id, judgement, annotator, self._clock()))
        self._tally = tally_labels(self._rows, self._journal.labels)
        return self._contents[row_id]

    def status(self) -> DeskStatus:
        """Returns what the labels say so far."""
        tally = self._tally
        try:
            rates, missing = estimate_rates(tally.audit, confidence=self._confidence), ""
        except ConfigError as error:
            rates, missing = None, str(error)
        return DeskStatus(
            labels={name: len(rows) for name, rows in self._given().items()},
            rates=rates,
            missing=missing,
            needed=self._needed(tally, rates),
            unsure=tally.unsure,
            disputed=tally.disputed,
            agreement=tally.agreement,
        )

    def channel(self, stratified_by: tuple[str, ...] = ()) -> Channel:
        """Returns the rates as they are exported.

        Raises:
            ConfigError: no right or no wrong row is labelled.
        """
        tally = self._tally
        return estimate_channel(
            tally.audit, tally.strata, stratified_by=stratified_by, confidence=self._confidence
        )

    def _given(self) -> dict[str, list[str]]:
        """Returns the rows that each annotator has judged, in the order of their last judgement."""
        given: dict[str, dict[str, None]] = {}
        for label in self._journal.labels:
            mine = given.setdefault(label.annotator, {})
            mine.pop(label.row_id, None)
            mine[label.row_id] = None
        return {name: list(rows) for name, rows in given.items()}

    def _shared_row(self, mine: Sequence[str], given: Mapping[str, Sequence[str]]) -> str | None:
        """Returns a row that others have judged and this person has not, if one is due."""
        counts = Counter(row_id for rows in given.values() for row_id in rows)
        shared = sum(counts[row_id] > 1 for row_id in mine)
        if shared >= self._overlap * (len(mine) + 1):
            return None
        known = set(mine)
        others = (row_id for rows in given.values() for row_id in rows)
        return next((one for one in others if one not in known and one in self._contents), None)

    def _new_row(self, annotator: str, given: Mapping[str, Sequence[str]]) -> str | None:
        taken = {row_id for rows in given.values() for row_id in rows}
        taken |= {row_id for name, row_id in self._open.items() if name != annotator}
        first = self._verdict_to_draw()
        for verdict in (first, not first):
            for row_id in self._queues[verdict]:
                if row_id not in taken:
                    return row_id
        return None

    def _verdict_to_draw(self) -> bool:
        """Returns the verdict of which the plan still wants the larger share of labels."""
        audit = self._tally.audit
        accepted, rejected = audit.accepted_labelled, audit.rejected_labelled
        plan = self._plan(audit)
        if plan is None or min(accepted, rejected) < _PILOT:
            return accepted <= rejected
        return accepted * plan.rejected <= rejected * plan.accepted

    def _plan(self, audit: Audit) -> AuditPlan | None:
        """Returns the plan that the labels so far suggest; None where they suggest none."""
        rows = len(self._rows.rows)
        share = (self._rows.accepted + 0.5) / (rows + 1)
        # A half is added to each count: a rate is not 0 because no error was met yet.
        ppv = (audit.accepted_right + 0.5) / (audit.accepted_labelled + 1)
        missed = (audit.rejected_right + 0.5) / (audit.rejected_labelled + 1)
        wrong, right = share * (1 - ppv), (1 - share) * missed
        rho0 = wrong / (wrong + (1 - share) * (1 - missed))
        rho1 = right / (right + share * ppv)
        try:
            return plan_audit(
                accept_rate=share,
                rho0=rho0,
                rho1=rho1,
                half_width=self._half_width,
                confidence=self._confidence,
            )
        except ConfigError:  # so far the verdicts look like a coin's: no plan follows from them
            return None

    def _needed(self, tally: LabelTally, rates: Rates | None) -> int | None:
        plan = self._plan(tally.audit)
        if rates is None or plan is None:
            return None
        if all(one.high - one.low <= 2 * self._half_width for one in (rates.rho0, rates.rho1)):
            return 0
        audit = tally.audit
        return max(
            max(plan.accepted - audit.accepted_labelled, 0)
            + max(plan.rejected - audit.rejected_labelled, 0),
            1,
        )
