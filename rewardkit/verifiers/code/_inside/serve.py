"""The submission's process: loads the program, answers calls one at a time."""

# ruff: noqa: ANN401 - values of a foreign program have no static type

import builtins
import linecache
import math
import operator
import os
import resource
import sys
import types
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

from rewardkit.verifiers.code._inside.codec import CodecError, decode, encode, pack, unpack
from rewardkit.verifiers.code._inside.frames import LinkClosed, read_frame, write_frame
from rewardkit.verifiers.code._inside.streams import Shown, share_streams

__all__ = ["serve"]

_READ, _WRITE = 3, 4
_MESSAGE_CHARS = 2000
_MUTABLE = (list, dict, set, deque, bytearray)


def serve(entry: str, plain: int) -> int:
    """Answers on descriptors 3 and 4 until the other side is gone.

    Args:
        entry: the function that `invoke` calls; a method of this name of `class Solution` serves as
            well.
        plain: 1 if only plain values may leave; 0 if objects may leave as handles.
    """
    server = _Server(entry, plain=bool(plain))
    if not plain:
        server.shown = share_streams(server.call_back)
    while True:
        try:
            request = unpack(read_frame(_READ))
        except LinkClosed:
            # What the program registered for its exit would only hold up the verdict.
            os._exit(0)
        server.reply(server.answer(request))


class _Server:
    def __init__(self, entry: str, *, plain: bool) -> None:
        self.entry = entry
        self.plain = plain
        self.objects: list[object] = []
        self.module = types.ModuleType("solution")
        self.shown: dict[str, Shown] = {}
        """What the program printed since the last reply, where the checks want to see it."""

    def reply(self, message: Any) -> None:
        message |= {key: text for key, stream in self.shown.items() if (text := stream.take())}
        try:
            data = pack(message)
        except CodecError as error:
            data = pack({"x": _describe_error(error)})
        write_frame(_WRITE, data)

    def answer(self, request: Any) -> Any:
        try:
            return getattr(self, "do_" + request["op"])(request)
        except LinkClosed:
            raise
        except RecursionError as error:
            return {"x": _describe_error(error)}
        except BaseException as error:
            return {"x": self.describe_error(error)}

    def do_load(self, _request: Any) -> Any:
        path = os.path.abspath("main.py")
        self.module.__file__ = path
        self.module.__dict__["__builtins__"] = builtins
        sys.modules["solution"] = self.module
        sys.argv[:] = [path]
        sys.path.insert(0, os.path.dirname(path))
        with open(path, "rb") as file:
            code = compile(file.read(), path, "exec")
        exec(code, self.module.__dict__)
        linecache.checkcache(path)
        return {"v": None}

    def do_invoke(self, request: Any) -> Any:
        _allow_cpu(request["cpu_s"])
        arguments = [decode(form, self.resolve) for form in request["a"]]
        keywords = {name: decode(form, self.resolve) for name, form in request["k"].items()}
        result = self.find_entry()(*arguments, **keywords)
        if isinstance(result, types.CoroutineType):
            result = _run_coroutine(result)
        return {"v": encode(result, None if self.plain else self.describe, drain=self.plain)}

    def do_names(self, request: Any) -> Any:
        found = {}
        for name in request["names"]:
            if name in self.module.__dict__:
                found[name] = encode(self.module.__dict__[name], self.describe)
            elif name == self.entry and self.has_solution():
                found[name] = encode(self.find_entry(), self.describe)
        return {"v": found}

    def do_all(self, _request: Any) -> Any:
        return {"v": [name for name in self.module.__dict__ if not name.startswith("_")]}

    def do_perform(self, request: Any) -> Any:
        target = self.objects[request["h"]]
        arguments = [decode(form, self.resolve) for form in request["a"]]
        keywords = {name: decode(form, self.resolve) for name, form in request["k"].items()}
        before = [_snapshot(argument) for argument in arguments]
        result = _PERFORM[request["w"]](target, *arguments, **keywords)
        changed = []
        for index, argument in enumerate(arguments):
            if before[index] is not None and _snapshot(argument) != before[index]:
                changed.append([index, encode(argument, self.describe)])
        return {"v": encode(result, self.describe), "m": changed}

    def find_entry(self) -> Callable[..., Any]:
        found = self.module.__dict__.get(self.entry)
        if found is None and self.has_solution():
            found = getattr(self.module.__dict__["Solution"](), self.entry)
        if found is None:
            raise NameError(f"name {self.entry!r} is not defined")
        return found  # type: ignore[no-any-return]

    def has_solution(self) -> bool:
        return hasattr(self.module.__dict__.get("Solution"), self.entry)

    def describe(self, value: object) -> Any:
        self.objects.append(value)
        kind = "object"
        if isinstance(value, type):
            kind = "class"
        elif isinstance(value, types.ModuleType):
            kind = "module"
        elif isinstance(value, types.CoroutineType):
            kind = "coroutine"
        elif callable(value):
            kind = "callable"
        elif hasattr(type(value), "__next__"):
            kind = "iterator"
        form: dict[str, Any] = {"id": len(self.objects) - 1, "k": kind}
        owner = value if isinstance(value, type | types.FunctionType) else type(value)
        form["n"] = str(getattr(value, "__name__", type(value).__name__))
        form["o"] = str(getattr(value if callable(value) else owner, "__module__", ""))
        if isinstance(value, types.GeneratorType):
            form["g"] = 1
        if isinstance(value, type) and issubclass(value, BaseException):
            form["e"] = _builtin_base(value)
        return {"h": form}

    def resolve(self, form: dict[str, Any]) -> object:
        if "u" in form:
            return self.objects[form["u"]]
        return _Foreign(self, form["h"]["id"])

    def describe_error(self, error: BaseException) -> Any:
        described = _describe_error(error)
        described["a"] = []
        for argument in error.args[:8]:
            try:
                described["a"].append(encode(argument))
            except CodecError:
                described["a"].append(type(argument).__name__)
        return described

    def call_back(self, what: str, number: int, arguments: Any, keywords: Any) -> Any:
        self.reply(
            {
                "cb": {
                    "w": what,
                    "h": number,
                    "a": [encode(argument, self.describe) for argument in arguments],
                    "k": {name: encode(value, self.describe) for name, value in keywords.items()},
                }
            }
        )
        while True:
            message = unpack(read_frame(_READ))
            if "op" in message:
                self.reply(self.answer(message))
            elif "x" in message:
                raise _rebuild_error(message["x"])
            else:
                return decode(message["v"], self.resolve)


class _Foreign:
    """An object that lives with the checks: it may be called, iterated and read by public name."""

    def __init__(self, server: _Server, number: int) -> None:
        self.__dict__["_server"] = server
        self.__dict__["_number"] = number

    def _ask(self, what: str, *arguments: Any, **keywords: Any) -> Any:
        return self._server.call_back(what, self._number, arguments, keywords)

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        return self._ask("call", *arguments, **keywords)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return self._ask("getattr", name)

    def __setattr__(self, name: str, value: Any) -> None:
        self._ask("setattr", name, value)

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        return self._ask("next")


def _allow_cpu(seconds: float) -> None:
    # Each call gets its share of processor time; the hard limit holds whatever the program does to
    # this one.
    used = resource.getrusage(resource.RUSAGE_SELF)
    hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
    soft = math.ceil(used.ru_utime + used.ru_stime + seconds)
    resource.setrlimit(resource.RLIMIT_CPU, (min(soft, hard), hard))


def _snapshot(value: object) -> Any:
    if not isinstance(value, _MUTABLE):
        return None
    try:
        return pack(encode(value))
    except CodecError:
        return b"opaque"


def _run_coroutine(coroutine: Any) -> Any:
    import asyncio

    return asyncio.run(coroutine)


def _builtin_base(kind: type) -> str:
    for base in kind.__mro__:
        if base.__module__ == "builtins" and getattr(builtins, base.__name__, None) is base:
            return str(base.__name__)
    return "Exception"


def _describe_error(error: BaseException) -> dict[str, Any]:
    kind = type(error)
    try:
        message = str.__str__(str(error)[:_MESSAGE_CHARS])
    except BaseException:
        message = ""
    name = str(getattr(kind, "__name__", "error"))[:200]
    return {"b": _builtin_base(kind), "n": name, "s": message, "a": []}


def _rebuild_error(form: Any) -> BaseException:
    kind = getattr(builtins, str(form["b"]), Exception)
    return kind(str(form["s"]))


def _call(target: Any, *arguments: Any, **keywords: Any) -> Any:
    return target(*arguments, **keywords)


def _get(target: Any, name: str) -> Any:
    return getattr(target, name)


def _is_instance(target: Any, kind: Any) -> bool:
    return isinstance(target, kind)


def _is_subclass(target: Any, kind: Any) -> bool:
    return issubclass(target, kind)


def _boolean(function: Callable[..., Any]) -> Callable[..., bool]:
    return lambda *arguments: bool(function(*arguments))


_PERFORM: dict[str, Callable[..., Any]] = {
    "call": _call,
    "getattr": _get,
    "setattr": setattr,
    "delattr": delattr,
    "isinstance": _is_instance,
    "issubclass": _is_subclass,
    "coroutine": _run_coroutine,
    "iter": iter,
    "next": next,
    "reversed": reversed,
    "len": len,
    "bool": bool,
    "str": str,
    "repr": repr,
    "format": format,
    "hash": hash,
    "int": int,
    "float": float,
    "complex": complex,
    "index": operator.index,
    "round": round,
    "dir": dir,
    "contains": _boolean(operator.contains),
    "getitem": operator.getitem,
    "setitem": operator.setitem,
    "delitem": operator.delitem,
    "enter": lambda target: type(target).__enter__(target),
    "exit": lambda target: type(target).__exit__(target, None, None, None),
    "eq": _boolean(operator.eq),
    "ne": _boolean(operator.ne),
    "lt": _boolean(operator.lt),
    "le": _boolean(operator.le),
    "gt": _boolean(operator.gt),
    "ge": _boolean(operator.ge),
    "neg": operator.neg,
    "pos": operator.pos,
    "abs": abs,
    "invert": operator.invert,
    "divmod": divmod,
}
for _name in [
    "add",
    "sub",
    "mul",
    "truediv",
    "floordiv",
    "mod",
    "pow",
    "matmul",
    "and_",
    "or_",
    "xor",
    "lshift",
    "rshift",
]:
    _PERFORM[_name] = getattr(operator, _name)
    _PERFORM["r" + _name] = lambda target, other, _f=_PERFORM[_name]: _f(other, target)
