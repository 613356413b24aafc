"""The checks' side of the link: requests to the submission's process, and its callbacks."""

# ruff: noqa: ANN401 - values of a foreign program have no static type

import builtins
import sys
from collections import deque
from typing import Any, NoReturn

from rewardkit.verifiers.code._inside.codec import CodecError, decode, encode, pack, unpack
from rewardkit.verifiers.code._inside.frames import LinkClosed, read_frame, write_frame
from rewardkit.verifiers.code._inside.standins import ClassStandIn, StandIn, number_of
from rewardkit.verifiers.code._inside.unordered import NAN

__all__ = ["Link"]

_READING = ("input", "readline", "read")


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
        self.disbelieved = False
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
                _show(reply)
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

    def disbelieve(self, reason: str) -> NoReturn:
        """Ends all talk because an object of the program's contradicts itself or judges itself."""
        self.disbelieved = True
        self.lose(reason)

    def lose(self, reason: str) -> NoReturn:
        """Ends all talk with the program, for ever, and with it the checks."""
        self.lost = reason
        raise LinkClosed(reason) from None

    def perform(self, what: str, number: int, *arguments: Any, **keywords: Any) -> Any:
        """Returns the plain result, or a stand-in for it, of an operation on a remote object."""
        # What collects tests reads private names of all it sees; that is no use of the program.
        self.calls += what != "getattr" or not str(arguments[0]).startswith("_")
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
                _replace_content(arguments[index], self.read(form))
            result = self.read(reply["v"])
        except CodecError as error:
            self.lose(str(error))
        return result

    def names(self, names: list[str]) -> dict[str, Any]:
        """Returns the forms of those of `names` that the program defines, by name."""
        forms = self.ask({"op": "names", "names": names})["v"]
        found = {name: forms[name] for name in names if name in forms}
        self.calls += sum(not (isinstance(form, dict) and "h" in form) for form in found.values())
        return found

    def export(self, value: object) -> Any:
        """Returns the form under which an object of this side crosses."""
        number = number_of(value)
        if number is not None:
            return {"u": number}
        self.exports.append(value)
        return {"h": {"id": len(self.exports) - 1}}

    def read(self, form: Any) -> Any:
        """Returns the value that a form from the other side describes."""
        return decode(form, self.resolve, nan=NAN)

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
        if issubclass(kind, KeyboardInterrupt | GeneratorExit):
            return LinkClosed(f"the program raised {kind.__name__}")
        arguments = [decode(argument, nan=NAN) for argument in form["a"]]
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
            if request["w"] in _READING:
                return {"v": _read_input(request["w"], request["a"])}
            target = self.exports[request["h"]]
            arguments = [self.read(form) for form in request["a"]]
            keywords = {name: self.read(form) for name, form in request["k"].items()}
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


def _show(reply: dict[str, Any]) -> None:
    # What the program prints is shown here, where the checks may have put something to catch it.
    for key, stream in (("o", sys.stdout), ("e", sys.stderr)):
        if key in reply:
            stream.write(str(reply[key]))


def _read_input(what: str, arguments: Any) -> str:
    # What the checks have put in place of `input` or of standard input is what the program reads.
    if what == "input":
        return str(input(str(arguments[0])))
    return str(getattr(sys.stdin, what)(int(arguments[0])))


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
