"""How values that JSON has no type for are written, and which text Parquet cannot hold."""

import base64
import datetime
import decimal
import uuid
from collections.abc import Mapping

__all__ = ["plain_json", "replace_surrogates"]


def plain_json(value: object) -> str | float:
    """Returns a value from a Parquet or Hugging Face column as plain JSON data.

    Times are ISO 8601 text, durations are seconds, decimals are text, bytes are base64 text.

    Raises:
        TypeError: there is no plain form for this type.
    """
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    if isinstance(value, datetime.timedelta):
        return value.total_seconds()
    if isinstance(value, decimal.Decimal | uuid.UUID):
        return str(value)
    if isinstance(value, bytes):
        return base64.b64encode(value).decode("ascii")
    raise TypeError(f"a {type(value).__name__} cannot be written as JSON")


def replace_surrogates(value: object) -> object:
    """Returns a copy of JSON data whose lone surrogates are U+FFFD, so that it is valid Unicode."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, Mapping):
        return {replace_surrogates(k): replace_surrogates(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [replace_surrogates(item) for item in value]
    return value
