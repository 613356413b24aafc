"""The service's own description, in OpenAPI 3.1."""

from collections.abc import Sequence
from typing import Any

from rewardkit._version import __version__
from rewardkit.serve.service.limits import ServiceLimits
from rewardkit.verdict import Reason

__all__ = ["describe_service"]

_Schema = dict[str, Any]

_NUMBER_OR_NULL: _Schema = {"type": ["number", "null"]}
_VERDICT: _Schema = {
    "type": "object",
    "required": ["score", "reason", "answer", "detail", "parts", "steps", "evidence", "seconds"],
    "properties": {
        "score": {"type": ["number", "null"], "minimum": 0, "maximum": 1},
        "reason": {"enum": [reason.value for reason in Reason]},
        "answer": {"type": ["string", "null"]},
        "detail": {"type": "string"},
        "parts": {"type": "object", "additionalProperties": {"type": "number"}},
        "steps": {"type": "array", "items": {"type": "object"}},
        "evidence": {"type": "object"},
        "seconds": {"type": "number", "minimum": 0},
    },
}
_ERROR: _Schema = {
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["type", "message"],
            "properties": {"type": {"type": "string"}, "message": {"type": "string"}},
        }
    },
}
_COMPLETION: _Schema = {
    "description": "A text, or a list of chat messages; whatever else stands here is graded too.",
    "examples": ["So the answer is 4.", [{"role": "assistant", "content": "4"}]],
}
_TIMEOUT: _Schema = {
    "type": ["number", "null"],
    "exclusiveMinimum": 0,
    "description": "Seconds; what is not graded then has no score and the reason timeout.",
}


def describe_service(
    limits: ServiceLimits, *, trainers: Sequence[str], needs_token: bool
) -> _Schema:
    """Returns the OpenAPI document of a service.

    Args:
        limits: of the service.
        trainers: the addresses in the shapes of frameworks.
        needs_token: whether callers must send one.
    """
    paths: _Schema = {
        "/health": _get("Whether the process lives.", _json({"type": "object"})),
        "/ready": _get("Whether it takes requests.", _json({"type": "object"}), 503),
        "/openapi.json": _get("This document.", _json({"type": "object"})),
        "/metrics": _get(
            "Figures for Prometheus.",
            {"content": {"text/plain": {"schema": {"type": "string"}}}},
            *([401] if needs_token else []),
        ),
        "/verify": _post(
            "Verdicts on a completion, or on many.",
            {"verifier": {"type": "string"}},
            {"oneOf": [_VERDICT, _listed("verdicts", {"type": "array", "items": _VERDICT})]},
            limits,
            needs_token,
        ),
        "/reward": _post(
            "What completions are worth: totals, components, and why one is missing.",
            {"verdicts": {"type": "boolean"}},
            {"oneOf": [_listed("score", _NUMBER_OR_NULL), _listed("scores", _NUMBERS)]},
            limits,
            needs_token,
        ),
    }
    for path in trainers:
        paths[path] = _trainer(path, needs_token)
    document: _Schema = {
        "openapi": "3.1.0",
        "info": {"title": "rewardkit", "version": __version__},
        "paths": paths,
    }
    if needs_token:
        document["components"] = {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}
        }
    return document


_NUMBERS: _Schema = {"type": "array", "items": _NUMBER_OR_NULL}


def _listed(name: str, schema: _Schema) -> _Schema:
    return {"type": "object", "required": [name], "properties": {name: schema}}


def _json(schema: _Schema) -> _Schema:
    return {"content": {"application/json": {"schema": schema}}}


def _answers(good: _Schema, *problems: int) -> _Schema:
    bad = {"description": "Why not.", **_json(_ERROR)}
    return {"200": {"description": "Done.", **good}, **{str(status): bad for status in problems}}


def _get(summary: str, good: _Schema, *problems: int) -> _Schema:
    operation: _Schema = {"summary": summary, "responses": _answers(good, *problems)}
    if 401 in problems:
        operation["security"] = [{"token": []}]
    return {"get": operation}


def _post(
    summary: str, fields: _Schema, good: _Schema, limits: ServiceLimits, needs_token: bool
) -> _Schema:
    judged = "verifier" in fields
    # In words, since a body that is too long is no malformed one: its answer is 413 and not 422.
    most = f"At most {limits.max_rows} rows; more are answered with 413."
    column: _Schema = {"type": "array", "description": most}
    more = {**fields, "timeout_s": _TIMEOUT}
    one = {
        "type": "object",
        "required": ["completion", *(["reference"] if judged else [])],
        "additionalProperties": False,
        "properties": {
            "completion": _COMPLETION,
            "reference": {},
            "context": {"type": "object"},
            **more,
        },
    }
    many = {
        "type": "object",
        "required": ["completions", *(["references"] if judged else [])],
        "additionalProperties": False,
        "properties": {
            "completions": {**column, "items": _COMPLETION},
            "references": column,
            "columns": {"type": "object", "additionalProperties": column},
            **more,
        },
    }
    return _posted(summary, {"oneOf": [one, many]}, good, needs_token)


def _posted(summary: str, body: _Schema, good: _Schema, needs_token: bool) -> _Schema:
    problems = [400, 408, 413, 415, 422, 429, 503, 504, *([401] if needs_token else [])]
    operation: _Schema = {
        "summary": summary,
        "requestBody": {"required": True, **_json(body)},
        "responses": _answers(_json(good), *sorted(problems)),
    }
    if needs_token:
        operation["security"] = [{"token": []}]
    return {"post": operation}


def _trainer(path: str, needs_token: bool) -> _Schema:
    if path == "/openrlhf":
        lists = {name: {"type": "array"} for name in ("query", "prompts", "labels")}
        body: _Schema = {"type": "object", "required": ["query", "labels"], "properties": lists}
        good = _listed("rewards", {"type": "array", "items": {"type": "number"}})
        return _posted("OpenRLHF's remote reward.", body, good, needs_token)
    body = {
        "type": "object",
        "required": ["response", "verifier_metadata"],
        "properties": {
            "response": _listed("output", {"type": "array", "items": {"type": "object"}}),
            "verifier_metadata": _listed("reference", {}),
        },
    }
    good = _listed("reward", {"type": "number"})
    return _posted("NeMo-Gym's verify.", body, good, needs_token)
