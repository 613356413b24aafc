"""Rows in and out: JSONL, Parquet and Hugging Face datasets, one row at a time."""

from rewardkit.datasets.readers import RowSource, read_rows
from rewardkit.datasets.rows import Columns, Row
from rewardkit.datasets.writers import encode_line, write_rows

__all__ = ["Columns", "Row", "RowSource", "encode_line", "read_rows", "write_rows"]
