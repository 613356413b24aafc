"""What the checks hold in place of the submission's objects, and how far each is believed.

An object of the submission may answer every question as it likes, and each question in its own way.
So a stand-in

- never lets it decide a comparison with a plain value;
- looks for a plain value in it by going through it here, so that it never learns the value;
- believes no plain value that comes out of arithmetic with a plain value, at any remove: such an
  object would learn what is expected and answer with 0;
- takes a length and a count of items that disagree for the end of all talk.

An object that the checks made themselves, by calling a class by its name, may answer for itself
except in comparisons: its operators are what the task asks for.
"""

# ruff: noqa: ANN401 - values of a foreign program have no static type

import operator
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NoReturn, Protocol

__all__ = ["ClassStandIn", "StandIn", "believe_class", "number_of"]

_FIELD = "_rewardkit_stand_in"
_UNARY = ("neg", "pos", "abs", "invert", "round")
_CONVERSIONS = ("int", "float", "complex", "index", "bool", "len", "str", "hash")
_BINARY = (
    *("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul"),
    *("and", "or", "xor", "lshift", "rshift"),
)
_OPERATORS = {
    *_UNARY,
    "divmod",
    *(
        prefix + name + ("_" if name in {"and", "or"} else "")
        for name in _BINARY
        for prefix in ("", "r")
    ),
}
_COMPARISONS = {
    f"__{name}__": getattr(operator, name) for name in ("eq", "ne", "lt", "le", "gt", "ge")
}
_LOCAL = {
    f"__{name}__"
    for name in (*_UNARY, *_CONVERSIONS, *_BINARY, "divmod", "iter", "contains", "reversed")
} | {f"__r{name}__" for name in _BINARY}
# Libraries would read raw memory at an address that the program names, or let it take over.
_WITHHELD = {
    *("__array_interface__", "__array_struct__", "__array_ufunc__", "__array_function__"),
    *("__array_priority__", "__cuda_array_interface__", "__dlpack__", "__dlpack_device__"),
    *("__buffer__", "__arrow_c_array__", "__arrow_c_stream__", "__dataframe__"),
}
# Methods of texts and sets that are handed what is expected and say yes or no.
_VERDICTS = {"startswith", "endswith", "issubset", "issuperset", "isdisjoint"}
_NEVER = object()
_CHANGES = {"setitem", "delitem", "setattr", "delattr", "enter", "exit"}


class Speaker(Protocol):
    """What a stand-in needs of its link."""

    def perform(self, what: str, number: int, *arguments: Any, **keywords: Any) -> Any:
        """Returns the result of an operation over there."""

    def disbelieve(self, reason: str) -> NoReturn:
        """Ends all talk."""


@dataclass(slots=True)
class _State:
    link: Speaker
    number: int
    described: dict[str, Any]
    owner: "StandIn | None" = None
    """The object that this one was an attribute of."""
    made: bool = False
    """Whether the checks made it; for a class, whether they ask for it by name."""
    doubted: bool = False
    """Whether it came out of arithmetic with a plain value."""
    size: int | None = None
    """The number of items that it last showed or claimed, until something may have changed it."""


def _state(value: "StandIn") -> _State:
    return object.__getattribute__(value, _FIELD)  # type: ignore[no-any-return]


def number_of(value: object) -> int | None:
    """Returns the number of the object that `value` stands for; None if it stands for none."""
    return _state(value).number if isinstance(value, StandIn) else None


def believe_class(value: object) -> None:
    """Says that the checks ask for this class by name, so that its instances are what they test."""
    if isinstance(value, ClassStandIn):
        _state(value).made = True


class StandIn:
    """Stands for an object of the submission's process."""

    def __init__(self, link: Speaker, number: int, described: dict[str, Any]) -> None:
        object.__setattr__(self, _FIELD, _State(link, number, described))

    def _do(self, what: str, *arguments: Any, **keywords: Any) -> Any:
        state = _state(self)
        _forget_sizes(self, what, (*arguments, *keywords.values()))
        result = state.link.perform(what, state.number, *arguments, **keywords)
        others = [_state(value) for value in arguments if isinstance(value, StandIn)]
        doubted = state.doubted or any(other.doubted for other in others)
        if what in _OPERATORS and not state.made:
            doubted = doubted or len(others) < len(arguments)
        if isinstance(result, StandIn):
            found = _state(result)
            found.doubted = doubted
            found.made = state.made and (what in _OPERATORS or (_is_class(self) and what == "call"))
            found.owner = self if what == "getattr" else None
        elif doubted:
            state.link.disbelieve(
                "an object of the program's answers arithmetic with a plain value; return a plain "
                "value instead"
            )
        return result

    def __getattribute__(self, name: str) -> Any:
        if name in {"_do", "_compare", "_count", "__dict__"}:
            return object.__getattribute__(self, name)
        state = _state(self)
        if name == "__class__":
            # Generators are asked for what they are, and are nothing to compare with.
            return types.GeneratorType if state.described.get("g") else type(self)
        if name in {"__name__", "__qualname__"}:
            return str(state.described.get("n", ""))
        if name == "__module__":
            return str(state.described.get("o", ""))
        if name in _COMPARISONS:
            return lambda other: _COMPARISONS[name](self, other)
        if name in _WITHHELD or (name in _VERDICTS and not (state.made or _is_namespace(self))):
            raise AttributeError(f"{name} of an object of the program's is not asked for")
        found = self._do("getattr", name)
        return object.__getattribute__(self, name) if name in _LOCAL else found

    def __setattr__(self, name: str, value: Any) -> None:
        self._do("setattr", name, value)

    def __delattr__(self, name: str) -> None:
        self._do("delattr", name)

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        return self._do("call", *arguments, **keywords)

    def __iter__(self) -> Iterator[Any]:
        state = _state(self)
        if state.described.get("k") != "iterator":
            return self._count(self._do("iter"))
        return self if state.size is None else self._count(iter(lambda: self._do("next"), _NEVER))

    def _count(self, items: Any) -> Iterator[Any]:
        count = 0
        for item in items:
            count += 1
            yield item
        _settle_size(self, count)

    def __next__(self) -> Any:
        return self._do("next")

    def __reversed__(self) -> Iterator[Any]:
        return self._do("reversed") if _state(self).made else iter(list(self)[::-1])

    def __contains__(self, item: object) -> bool:
        if _state(self).made:
            return bool(self._do("contains", item))
        return any(other is item or other == item for other in self)

    def __len__(self) -> int:
        size = int(self._do("len"))
        _settle_size(self, size)
        return size

    def __eq__(self, other: object) -> Any:
        return self._compare("eq", other)

    def __ne__(self, other: object) -> Any:
        return self._compare("ne", other)

    def __lt__(self, other: object) -> Any:
        return self._compare("lt", other)

    def __le__(self, other: object) -> Any:
        return self._compare("le", other)

    def __gt__(self, other: object) -> Any:
        return self._compare("gt", other)

    def __ge__(self, other: object) -> Any:
        return self._compare("ge", other)

    def _compare(self, what: str, other: object) -> Any:
        if not isinstance(other, StandIn):
            return NotImplemented
        return bool(StandIn._do(self, what, other))

    def __hash__(self) -> int:
        return hash(self._do("hash"))

    def __bool__(self) -> bool:
        return bool(self._do("bool"))

    def __str__(self) -> str:
        return str(self._do("str"))

    def __repr__(self) -> str:
        # Reports of a failure write it, too.
        return "an object of the program's" if _state(self).doubted else str(self._do("repr"))

    def __format__(self, specification: str) -> str:
        return str(self._do("format", specification))

    def __int__(self) -> int:
        return int(self._do("int"))

    def __float__(self) -> float:
        return float(self._do("float"))

    def __complex__(self) -> complex:
        return complex(self._do("complex"))

    def __index__(self) -> int:
        return int(self._do("index"))

    def __dir__(self) -> list[str]:
        return [str(name) for name in self._do("dir")]

    def __enter__(self) -> Any:
        return self._do("enter")

    def __exit__(self, *_: object) -> Any:
        return bool(self._do("exit"))


class ClassStandIn(StandIn):
    """Stands for a class; `isinstance` is answered over there, for stand-ins only."""

    def __instancecheck__(self, instance: object) -> bool:
        return isinstance(instance, StandIn) and bool(instance._do("isinstance", self))

    def __subclasscheck__(self, subclass: object) -> bool:
        return isinstance(subclass, StandIn) and bool(subclass._do("issubclass", self))


def _is_class(value: StandIn) -> bool:
    return isinstance(value, ClassStandIn)


def _is_namespace(value: StandIn) -> bool:
    return _state(value).described.get("k") in {"class", "module"}


def _forget_sizes(target: StandIn, what: str, arguments: tuple[Any, ...]) -> None:
    """Forgets the sizes of those objects that an operation may change."""
    owner = _state(target).owner
    if what == "call" and owner is not None:
        _state(owner).size = None
    if what in _CHANGES:
        _state(target).size = None
    for argument in arguments:
        if isinstance(argument, StandIn):
            _state(argument).size = None


def _settle_size(value: StandIn, size: int) -> None:
    state = _state(value)
    if not state.made and state.size not in {None, size}:
        state.link.disbelieve(
            "an object of the program's has one length and another number of items"
        )
    state.size = size


def _forwarder(what: str) -> Callable[..., Any]:
    def forward(self: StandIn, *arguments: Any) -> Any:
        return StandIn._do(self, what, *arguments)

    return forward


for _name in (*_UNARY, "divmod", "getitem", "setitem", "delitem"):
    setattr(StandIn, f"__{_name}__", _forwarder(_name))
for _name in _BINARY:
    for _prefix in ("", "r"):
        _what = _prefix + _name + ("_" if _name in {"and", "or"} else "")
        setattr(StandIn, f"__{_prefix}{_name}__", _forwarder(_what))
