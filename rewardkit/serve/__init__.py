"""Local pages: labelling the rows of a scored file."""

from rewardkit.serve.content import RowContent, read_contents
from rewardkit.serve.desk import DeskStatus, LabelDesk

__all__ = ["DeskStatus", "LabelDesk", "RowContent", "read_contents"]
