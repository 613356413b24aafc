"""Labels that people give to scored rows, and what they say of the verifier."""

from rewardkit.labels.features import dependence_on_columns
from rewardkit.labels.journal import Judgement, Label, LabelJournal, read_labels
from rewardkit.labels.rows import AuditRow, ScoredRows, read_scored_rows
from rewardkit.labels.tally import LabelTally, count_truths, tally_labels, truths_of_column

__all__ = [
    "AuditRow",
    "Judgement",
    "Label",
    "LabelJournal",
    "LabelTally",
    "ScoredRows",
    "count_truths",
    "dependence_on_columns",
    "read_labels",
    "read_scored_rows",
    "tally_labels",
    "truths_of_column",
]
