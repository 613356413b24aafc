"""JSON that a model wrote, read strictly and within limits, and a schema of bounded cost."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from rewardkit.errors import ConfigError

__all__ = ["JsonSchema", "ReadJson", "read_json"]

_TYPES = ("array", "boolean", "integer", "null", "number", "object", "string")
_NOTES = {"$schema", "title", "description", "default", "examples"}
_COUNTS = ("minItems", "maxItems", "minLength", "maxLength")
_BOUNDS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")
_CHECKED = {"type", "enum", "const", "properties", "required", "additionalProperties", "items"}
_KEYWORDS = {*_NOTES, *_COUNTS, *_BOUNDS, *_CHECKED}
# A string that is not closed runs to the end, so that no part of the text is scanned twice.
_BRACKET = re.compile(r'"(?:[^"\\]|\\.)*+"?|[\[{]|[\]}]', re.DOTALL)


@dataclass(frozen=True, slots=True)
class ReadJson:
    """A value that was read; None may be one."""

    value: Any


def read_json(source: str, *, max_depth: int) -> ReadJson | None:
    """Returns the JSON value that is the whole of a text, or None.

    Strict: no `NaN` or `Infinity`, no repeated keys. Linear in the length of the text.

    Args:
        source: the text.
        max_depth: brackets within brackets, counted before anything is read.

    >>> read_json('{"a": [1]}', max_depth=2), read_json("[[[]]]", max_depth=2)
    (ReadJson(value={'a': [1]}), None)
    """
    depth = 0
    for found in _BRACKET.finditer(source):
        mark = found[0]
        depth += (mark in "[{") - (mark in "]}") if len(mark) == 1 else 0
        if depth > max_depth:
            return None
    try:
        value = json.loads(source, parse_constant=_refuse, object_pairs_hook=_no_repeats)
    except ValueError:  # also that of an integer with thousands of digits
        return None
    return ReadJson(value)


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _no_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        raise ValueError("a key is repeated")
    return made


class JsonSchema:
    """A JSON schema of the keywords whose cost is linear in what they check.

    These are `type`, `enum`, `const`, `properties`, `required`, `additionalProperties` (true or
    false), `items`, `minItems`, `maxItems`, `minLength`, `maxLength`, `minimum`, `maximum`,
    `exclusiveMinimum`, `exclusiveMaximum`, with the meaning of JSON Schema 2020-12; `title`,
    `description`, `default`, `examples` and `$schema` say nothing. There is no `pattern`: a regular
    expression over a model's text has no bound.

    Raises:
        ConfigError: another keyword, or a value that its keyword cannot have.

    >>> JsonSchema({"type": "array", "items": {"type": "integer"}}).fits([1, 2])
    True
    """

    __slots__ = ("_schema",)

    def __init__(self, schema: Mapping[str, Any]) -> None:
        _check(schema)
        self._schema = schema

    def fits(self, value: object) -> bool:
        """Returns whether a value that was read from JSON fits."""
        return _fits(self._schema, value)


def _check(schema: object) -> None:
    if not isinstance(schema, Mapping):
        raise ConfigError(f"a schema is an object, not {schema!r:.100}")
    if unknown := sorted(set(schema) - _KEYWORDS):
        raise ConfigError(
            f"the schema keyword {unknown[0]!r} is not known; there are: "
            f"{', '.join(sorted(_KEYWORDS))}"
        )
    kinds = schema.get("type", [])
    for kind in [kinds] if isinstance(kinds, str) else kinds:
        if kind not in _TYPES:
            raise ConfigError(f"a schema's type is one of {', '.join(_TYPES)}, not {kind!r}")
    for name in (*_COUNTS, *_BOUNDS):
        number = schema.get(name, 0)
        if isinstance(number, bool) or not isinstance(number, int | float):
            raise ConfigError(f"a schema's {name} is a number, not {number!r}")
    for name in ("enum", "required"):
        if not isinstance(schema.get(name, []), list | tuple):
            raise ConfigError(f"a schema's {name} is a list, not {schema[name]!r:.100}")
    if not isinstance(schema.get("additionalProperties", True), bool):
        raise ConfigError("a schema's additionalProperties is true or false here")
    if not isinstance(schema.get("properties", {}), Mapping):
        raise ConfigError("a schema's properties are an object")
    for inner in schema.get("properties", {}).values():
        _check(inner)
    if "items" in schema:
        _check(schema["items"])


def _fits(schema: Mapping[str, Any], value: object) -> bool:
    if "type" in schema:
        kinds = [schema["type"]] if isinstance(schema["type"], str) else schema["type"]
        if not any(_is(kind, value) for kind in kinds):
            return False
    if "const" in schema and not _same(schema["const"], value):
        return False
    if "enum" in schema and not any(_same(one, value) for one in schema["enum"]):
        return False
    if isinstance(value, str):
        return _counted(schema, len(value), "minLength", "maxLength")
    if isinstance(value, bool) or value is None:
        return True
    if isinstance(value, int | float):
        return _bounded(schema, value)
    if isinstance(value, list):
        items = schema.get("items")
        return _counted(schema, len(value), "minItems", "maxItems") and (
            items is None or all(_fits(items, one) for one in value)
        )
    return not isinstance(value, dict) or _fits_object(schema, value)


def _fits_object(schema: Mapping[str, Any], value: Mapping[str, Any]) -> bool:
    properties = schema.get("properties", {})
    if any(name not in value for name in schema.get("required", [])):
        return False
    if schema.get("additionalProperties", True) is False and set(value) - set(properties):
        return False
    return all(_fits(inner, value[name]) for name, inner in properties.items() if name in value)


def _is(kind: str, value: object) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    if isinstance(value, int | float):
        return kind == "number" or (kind == "integer" and value == value // 1)
    names = {str: "string", list: "array", dict: "object", type(None): "null"}
    return names.get(type(value)) == kind


def _counted(schema: Mapping[str, Any], size: int, least: str, most: str) -> bool:
    return bool(schema.get(least, 0) <= size <= schema.get(most, size))


def _bounded(schema: Mapping[str, Any], value: float) -> bool:
    return bool(
        schema.get("minimum", value) <= value <= schema.get("maximum", value)
        and ("exclusiveMinimum" not in schema or value > schema["exclusiveMinimum"])
        and ("exclusiveMaximum" not in schema or value < schema["exclusiveMaximum"])
    )


def _same(one: object, other: object) -> bool:
    """JSON's equality: 1 is 1.0, and true is not 1."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(_same(v, other[k]) for k, v in one.items())
    if isinstance(one, Sequence) and isinstance(other, list) and not isinstance(one, str):
        return len(one) == len(other) and all(map(_same, one, other))
    return bool(one == other)
