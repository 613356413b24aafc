"""The verifiers by name, and how one is made from a name and options in text."""

import enum
import importlib
import inspect
import json
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, Union

from rewardkit.errors import ConfigError
from rewardkit.verdict import Json
from rewardkit.verifier import Verifier
from rewardkit.verifiers._names import did_you_mean

__all__ = [
    "VERIFIERS",
    "Option",
    "effective_options",
    "list_options",
    "make_verifier",
    "parse_options",
    "verifier_class",
]

VERIFIERS: Mapping[str, str] = {
    "cascade": "rewardkit.verifiers.cascade:Cascade",
    "choice": "rewardkit.verifiers.choice:ChoiceVerifier",
    "code": "rewardkit.verifiers.code:CodeVerifier",
    "judge": "rewardkit.verifiers.judge:JudgeVerifier",
    "kb": "rewardkit.verifiers.kb:KbVerifier",
    "local_judge": "rewardkit.verifiers.judge:LocalJudge",
    "math": "rewardkit.verifiers.math:MathVerifier",
    "qa": "rewardkit.verifiers.kb:QaVerifier",
    "similarity": "rewardkit.verifiers.similarity:SimilarityVerifier",
    "sql": "rewardkit.verifiers.sql:SqlVerifier",
    "prolog": "rewardkit.verifiers.prolog:PrologVerifier",
    "dafny": "rewardkit.verifiers.dafny:DafnyVerifier",
    "lean": "rewardkit.verifiers.lean:LeanVerifier",
    "rocq": "rewardkit.verifiers.rocq:RocqVerifier",
}
"""Name -> module:class. A verifier of your own is named in the same way: `my_module:MyVerifier`."""

_Type: TypeAlias = Any

_KEY = "api_key"  # decides no verdict, and must not be written down


@dataclass(frozen=True, slots=True)
class Option:
    """One keyword argument of a verifier."""

    name: str
    kind: _Type
    """Its annotation."""
    default: object
    """`inspect.Parameter.empty` where there is none."""

    def __str__(self) -> str:
        has_default = self.default is not inspect.Parameter.empty
        default = f" = {self.default!r}" if has_default else " (required)"
        return f"{self.name}: {_name_type(self.kind)}{default}"


def verifier_class(name: str) -> type[Verifier]:
    """Returns the class of a verifier.

    Args:
        name: a name in `VERIFIERS`, or `module:Class` for one of your own.

    Raises:
        ConfigError: there is no such verifier; the message lists the names.
    """
    path = VERIFIERS.get(name, name)
    module_name, _, class_name = path.partition(":")
    if not class_name:
        raise ConfigError(
            f"no verifier {name!r}{did_you_mean(name, VERIFIERS)}. There are: "
            f"{', '.join(sorted(VERIFIERS))}; or name a class of your own as my_module:MyVerifier."
        )
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module_name}.".startswith(f"{error.name}."):
            raise
        raise ConfigError(
            f"verifier {name!r}: no module {module_name!r}. Is its folder in PYTHONPATH?"
        ) from None
    found = vars(module).get(class_name)
    if not isinstance(found, type):
        raise ConfigError(f"verifier {name!r}: {module_name} has no class {class_name}.")
    return typing.cast("type[Verifier]", found)


def list_options(name: str) -> list[Option]:
    """Returns the options of a verifier, in the order of its constructor.

    Raises:
        ConfigError: there is no such verifier.
    """
    made = verifier_class(name)
    hints = typing.get_type_hints(made.__init__)
    named = (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return [
        Option(parameter.name, hints.get(parameter.name, Any), parameter.default)
        for parameter in inspect.signature(made).parameters.values()
        if parameter.kind in named
    ]


def make_verifier(name: str, **options: object) -> Verifier:
    """Returns a new verifier.

    Args:
        name: a name in `VERIFIERS`, or `module:Class` for one of your own.
        options: its keyword arguments.

    Raises:
        ConfigError: there is no such verifier or option, or a value is outside its range.
    """
    known = _check_names(name, options)
    missing = [
        o.name for o in known if o.default is inspect.Parameter.empty and o.name not in options
    ]
    if missing:
        raise ConfigError(
            f"verifier {name!r} needs the option {missing[0]!r}. {_list(name, known)}"
        )
    build: Callable[..., object] = verifier_class(name)
    try:
        made = build(**options)
    except TypeError as error:
        raise ConfigError(f"verifier {name!r}: an option is of the wrong type: {error}") from error
    if not isinstance(made, Verifier):
        raise ConfigError(f"{name!r} is not a verifier: it lacks a method of rewardkit.Verifier.")
    return made


def effective_options(name: str, options: Mapping[str, object]) -> dict[str, Json]:
    """Returns every option but keys with its value, given or default, as plain JSON data.

    Two verifiers of one name and equal effective options give the same verdicts.
    """
    values = {option.name: option.default for option in list_options(name)} | dict(options)
    values.pop(_KEY, None)
    return {key: _plain(value) for key, value in sorted(values.items())}


def parse_options(name: str, texts: Sequence[str]) -> dict[str, object]:
    """Returns options from `key=value` texts, each read as its constructor annotates it.

    Lists are written with commas; what has no simple text form is read as JSON.

    Raises:
        ConfigError: a text is not `key=value`, or does not fit its option.
    """
    options: dict[str, object] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals:
            raise ConfigError(
                f"--option {text!r} is not of the form key=value, as in mode=lenient."
            )
        options[key.strip().replace("-", "_")] = value
    known = {option.name: option for option in _check_names(name, options)}
    return {key: _parse(known[key], str(value), name) for key, value in options.items()}


def _check_names(name: str, options: Mapping[str, object]) -> list[Option]:
    known = list_options(name)
    unknown = [key for key in options if key not in {option.name for option in known}]
    if unknown:
        near = did_you_mean(unknown[0], [option.name for option in known])
        raise ConfigError(
            f"verifier {name!r} has no option {unknown[0]!r}{near}. {_list(name, known)}"
        )
    return known


def _list(name: str, options: Sequence[Option]) -> str:
    if not options:
        return f"{name} has no options."
    return "Its options: " + "; ".join(str(option) for option in options) + "."


def _plain(value: object) -> Json:
    if isinstance(value, enum.Enum):
        return _plain(value.value)
    if value is None or isinstance(value, str | int | float | bool):
        return value
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items() if key != _KEY}
    if isinstance(value, Sequence | set | frozenset):
        items = sorted(value, key=repr) if isinstance(value, set | frozenset) else value
        return [_plain(item) for item in items]
    return repr(value)


def _name_type(kind: _Type) -> str:
    if _origin(kind) is Literal:
        return " | ".join(str(value) for value in typing.get_args(kind))
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        return " | ".join(str(member.value) for member in kind)
    if _is_union(kind):
        return " | ".join(_name_type(one) for one in typing.get_args(kind))
    if kind is types.NoneType:
        return "none"
    return kind.__name__ if isinstance(kind, type) else str(kind).replace("typing.", "")


def _origin(kind: _Type) -> _Type:
    return typing.get_origin(kind)


def _is_union(kind: _Type) -> bool:
    return _origin(kind) in (Union, types.UnionType)


def _parse(option: Option, text: str, verifier: str) -> object:
    try:
        return _read(option.kind, text)
    except ValueError:
        raise ConfigError(
            f"verifier {verifier!r}: option {option.name} is {_name_type(option.kind)}, "
            f"not {text!r}."
        ) from None


_TRUE, _FALSE = ("true", "yes", "on", "1"), ("false", "no", "off", "0")


_COLLECTIONS: Mapping[object, Callable[..., object]] = {
    tuple: tuple,
    list: list,
    set: set,
    frozenset: frozenset,
    Sequence: tuple,
}


def _read(kind: _Type, text: str) -> object:
    """Returns `text` as a value of an annotated type.

    Raises:
        ValueError: it is none.
    """
    origin, arguments = _origin(kind), typing.get_args(kind)
    if origin is Literal:
        return _choose({str(value): value for value in arguments}, text)
    if _is_union(kind):
        return _read_union(arguments, text)
    if kind is types.NoneType:
        return _choose({"none": None, "null": None, "": None}, text.lower())
    if kind is bool:
        return _choose({**dict.fromkeys(_TRUE, True), **dict.fromkeys(_FALSE, False)}, text.lower())
    if kind in (int, float, str):
        return kind(text)
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        return _choose({str(member.value): member for member in kind}, text)
    collection = _COLLECTIONS.get(origin)
    if collection is not None and not text.lstrip().startswith("["):
        item = arguments[0] if arguments else str
        return collection(_read(item, part.strip()) for part in text.split(","))
    return json.loads(text)


def _read_union(kinds: Sequence[_Type], text: str) -> object:
    # None first, text last: "none" is None, "3" is a number, and only the rest is text.
    for kind in sorted(kinds, key=lambda one: (one is str) - (one is types.NoneType)):
        try:
            return _read(kind, text)
        except ValueError:
            continue
    raise ValueError(text)


def _choose(choices: Mapping[str, object], text: str) -> object:
    if text not in choices:
        raise ValueError(text)
    return choices[text]
