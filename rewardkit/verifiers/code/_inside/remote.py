"""The checks' side: stand-ins for what lives in the submission's process.

Values cross as plain data. A stand-in never lets the submission's `==` or `<` decide against a
plain value: that is where a program would say "equal" to whatever it is compared with.
"""

# ruff: noqa: ANN401 - values of a foreign program have no static type

import builtins
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

from rewardkit.verifiers.code._inside.codec import CodecError, decode, encode, pack, unpack
from rewardkit.verifiers.code._inside.frames import LinkClosed, read_frame, write_frame

__all__ = ["ClassStandIn", "Link", "StandIn"]

_FIELD = "_rewardkit_stand_in"


class Link:
    """Speaks with the submission's process over two pipes."""

    def __init__(self, read_end: int, write_end: int, check_module: str) -> None:
        self.read_end = read_end
        self.write_end = write_end
        self.check_module = check_module
        self.calls = 0
        """Answers that show something of the program: operations on its objects, plain values."""
        self.lost = ""
        """Why the other side can no longer be trusted to answer; empty while it can."""
        self.exports: list[object] = []
        self.errors: dict[tuple[str, str], type[BaseException]] = {}

    def ask(self, request: dict[str, Any]) -> Any:
        """Returns the reply to a request; raises what the submission raised."""
        if self.lost:
            raise LinkClosed(self.lost)
        try:
            write_frame(self.write_end, pack(request))
            while True:
                reply = unpack(read_frame(self.read_end))
                if "cb" not in reply:
                    break
                write_frame(self.write_end, pack(self._serve_callback(reply["cb"])))
            if "x" in reply:
                raise self._error(reply["x"], ends_loop=request.get("w") == "next")
        except (LinkClosed, CodecError, KeyError, TypeError) as error:
            if isinstance(error, KeyError | TypeError) and getattr(error, "from_submission", False):
                raise
            self.lost = f"{type(error).__name__}: {error}"
            raise LinkClosed(self.lost) from None
        return reply

    def perform(self, what: str, number: int, *arguments: Any, **keywords: Any) -> Any:
        """Returns the plain result, or a stand-in for it, of an operation on a remote object."""
        reply = self.ask(
            {
                "op": "perform",
                "w": what,
                "h": number,
                "a": [encode(argument, self.export) for argument in arguments],
                "k": {name: encode(value, self.export) for name, value in keywords.items()},
            }
        )
        try:
            for index, form in reply.get("m") or ():
                _replace_content(arguments[index], decode(form, self.resolve))
            result = decode(reply["v"], self.resolve)
        except CodecError as error:
            self.lost = str(error)
            raise LinkClosed(self.lost) from None
        # What collects tests reads private names of all it sees; that is no use of the program.
        self.calls += what != "getattr" or not str(arguments[0]).startswith("_")
        return result

    def names(self, names: list[str]) -> dict[str, Any]:
        """Returns the forms of those of `names` that the program defines, by name."""
        forms = self.ask({"op": "names", "names": names})["v"]
        found = {name: forms[name] for name in names if name in forms}
        self.calls += sum(not (isinstance(form, dict) and "h" in form) for form in found.values())
        return found

    def export(self, value: object) -> Any:
        """Returns the form under which an object of this side crosses."""
        inner = _inner(value)
        if inner is not None:
            return {"u": inner[1]}
        self.exports.append(value)
        return {"h": {"id": len(self.exports) - 1}}

    def resolve(self, form: dict[str, Any]) -> object:
        """Returns the local object or the stand-in that a form from the other side names."""
        if "u" in form:
            return self.exports[form["u"]]
        described = form["h"]
        number, kind = described["id"], described.get("k")
        if kind == "class" and "e" in described:
            return self.error_class(str(described["e"]), str(described["n"]))
        if kind == "class":
            return ClassStandIn(self, number, described)
        if kind == "coroutine":
            return _await_remote(self, number)
        return StandIn(self, number, described)

    def error_class(self, base: str, name: str) -> type[BaseException]:
        """Returns the local class of an exception: the built-in, or one below it."""
        parent = getattr(builtins, base, Exception)
        if not (isinstance(parent, type) and issubclass(parent, BaseException)):
            parent = Exception
        if parent.__name__ == name:
            return parent
        if (base, name) not in self.errors:
            made: Any = type(name, (parent,), {})
            self.errors[base, name] = made
        return self.errors[base, name]

    def _error(self, form: Any, *, ends_loop: bool) -> BaseException:
        kind = self.error_class(str(form["b"]), str(form["n"]))
        if issubclass(kind, StopIteration | StopAsyncIteration) and not ends_loop:
            # Let through, it would end a `map` or `zip` of the checks before their first assert.
            kind, form = RuntimeError, {**form, "a": [], "s": f"the program raised {form['n']}"}
        if issubclass(kind, SystemExit | KeyboardInterrupt | GeneratorExit):
            return LinkClosed(f"the program raised {kind.__name__}")
        arguments = [decode(argument) for argument in form["a"]]
        try:
            error = kind(*arguments) if arguments else kind(str(form["s"]))
        except Exception:
            error = RuntimeError(str(form["s"]))
        error.from_submission = True  # type: ignore[attr-defined]
        if str(error) != str(form["s"]):
            error.add_note(str(form["s"]))
        return error

    def _serve_callback(self, request: Any) -> Any:
        try:
            target = self.exports[request["h"]]
            arguments = [decode(form, self.resolve) for form in request["a"]]
            keywords = {name: decode(form, self.resolve) for name, form in request["k"].items()}
            result = self._perform_here(request["w"], target, arguments, keywords)
            return {"v": encode(result, self.export)}
        except LinkClosed:
            raise
        except Exception as error:
            return {"x": {"b": type(error).__name__, "n": type(error).__name__, "s": str(error)}}

    def _perform_here(
        self, what: str, target: Any, arguments: list[Any], keywords: dict[str, Any]
    ) -> Any:
        if what == "call" and callable(target):
            return target(*arguments, **keywords)
        if what == "next":
            return next(target)
        # Attributes only of instances of the checks' own classes, by public name: the attributes of
        # functions, frames and modules lead to everything.
        if type(target).__module__ == self.check_module and not arguments[0].startswith("_"):
            if what == "getattr":
                return getattr(target, arguments[0])
            if what == "setattr":
                return setattr(target, arguments[0], arguments[1])
        raise AttributeError("this object may only be called")


def _inner(value: object) -> tuple[Link, int, dict[str, Any]] | None:
    if isinstance(value, StandIn):
        return object.__getattribute__(value, _FIELD)  # type: ignore[no-any-return]
    return None


async def _await_remote(link: Link, number: int) -> Any:
    return link.perform("coroutine", number)


def _replace_content(target: Any, content: Any) -> None:
    if isinstance(target, list | bytearray):
        target[:] = content
    elif isinstance(target, dict | set):
        target.clear()
        target.update(content)
    elif isinstance(target, deque):
        target.clear()
        target.extend(content)


class StandIn:
    """Stands for an object of the submission's process."""

    def __init__(self, link: Link, number: int, described: dict[str, Any]) -> None:
        object.__setattr__(self, _FIELD, (link, number, described))

    def _do(self, what: str, *arguments: Any, **keywords: Any) -> Any:
        link, number, _ = object.__getattribute__(self, _FIELD)
        return link.perform(what, number, *arguments, **keywords)

    def __getattribute__(self, name: str) -> Any:
        if name in {"_do", "_compare", "__class__", "__dict__"}:
            return object.__getattribute__(self, name)
        described = object.__getattribute__(self, _FIELD)[2]
        if name in {"__name__", "__qualname__"}:
            return str(described.get("n", ""))
        if name == "__module__":
            return str(described.get("o", ""))
        return self._do("getattr", name)

    def __setattr__(self, name: str, value: Any) -> None:
        self._do("setattr", name, value)

    def __delattr__(self, name: str) -> None:
        self._do("delattr", name)

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        return self._do("call", *arguments, **keywords)

    def __iter__(self) -> Iterator[Any]:
        described = object.__getattribute__(self, _FIELD)[2]
        return self if described.get("k") == "iterator" else self._do("iter")

    def __next__(self) -> Any:
        return self._do("next")

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

    def __len__(self) -> int:
        return int(self._do("len"))

    def __str__(self) -> str:
        return str(self._do("str"))

    def __repr__(self) -> str:
        return str(self._do("repr"))

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

    def __contains__(self, item: object) -> bool:
        return bool(self._do("contains", item))

    def __dir__(self) -> list[str]:
        return [str(name) for name in self._do("dir")]

    def __enter__(self) -> Any:
        return self._do("enter")

    def __exit__(self, *_: object) -> Any:
        return bool(self._do("exit"))


class ClassStandIn(StandIn):
    """Stands for a class; `isinstance` is answered over there, for stand-ins only."""

    def __instancecheck__(self, instance: object) -> bool:
        inner = _inner(instance)
        return inner is not None and bool(inner[0].perform("isinstance", inner[1], self))

    def __subclasscheck__(self, subclass: object) -> bool:
        inner = _inner(subclass)
        return inner is not None and bool(inner[0].perform("issubclass", inner[1], self))


def _forwarder(what: str) -> Callable[..., Any]:
    def forward(self: StandIn, *arguments: Any) -> Any:
        return StandIn._do(self, what, *arguments)

    return forward


_FORWARDED = {
    **{
        name: name
        for name in [
            "getitem",
            "setitem",
            "delitem",
            "neg",
            "pos",
            "abs",
            "invert",
            "round",
            "reversed",
        ]
    },
    **{
        prefix + name: prefix + name + ("_" if name in {"and", "or"} else "")
        for prefix in ("", "r")
        for name in [
            "add",
            "sub",
            "mul",
            "truediv",
            "floordiv",
            "mod",
            "pow",
            "matmul",
            "and",
            "or",
            "xor",
            "lshift",
            "rshift",
        ]
    },
    "divmod": "divmod",
}
for _special, _what in _FORWARDED.items():
    setattr(StandIn, f"__{_special}__", _forwarder(_what))
