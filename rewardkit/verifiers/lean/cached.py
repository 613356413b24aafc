"""Checks what a compiled file says about its own expressions, before a kernel believes it.

Every expression and universe level of a compiled file carries data that Lean computed when it made
it: whether it has free variables, metavariables or level parameters, and how many bound variables
point out of it. The kernel reads them instead of looking. A file that was written by hand could lie
there, and no replay would see it.
"""

import struct

from rewardkit.verifiers.lean.audit import Module, children
from rewardkit.verifiers.lean.olean import Olean, OleanError

__all__ = ["CachedDataError", "TooLargeError", "check_cached"]

_BVAR, _FVAR, _MVAR, _SORT, _CONST = 0, 1, 2, 3, 4
_LAMBDA, _FORALL, _LET = 6, 7, 8
_HAS_FVAR, _HAS_MVAR, _LEVEL_MVAR, _LEVEL_PARAM = 1 << 40, 1 << 41, 1 << 42, 1 << 43
_FLAGS = _HAS_FVAR | _HAS_MVAR | _LEVEL_MVAR | _LEVEL_PARAM
_RANGE_AT = 44
_MAX_EXPRESSIONS = 1_000_000
_LEVEL_FLAGS = {4: 1 << 33, 5: 1 << 32}
"""A parameter's and a metavariable's bit in the data of a level."""


class CachedDataError(OleanError):
    """A compiled file lies about its expressions."""


class TooLargeError(OleanError):
    """A compiled file holds more expressions than are looked at."""


def check_cached(module: Module) -> None:
    """Looks at every expression in the statements and bodies of a module.

    Raises:
        CachedDataError: one of them is not what its data says.
        TooLargeError: there are more than a million.
        OleanError: the file cannot be read.
    """
    levels: dict[int, int] = {-1: 0}
    done: dict[int, int] = {}
    try:
        for constant in module.constants.values():
            for root in (constant.type_at, *constant.values_at):
                _check_expression(module.file, root, done, levels)
    except (IndexError, KeyError, struct.error) as error:
        raise OleanError(f"a broken file: {error!r}") from None


def _check_expression(file: Olean, root: int, done: dict[int, int], levels: dict[int, int]) -> None:
    stack = [root]
    while stack:
        at = stack[-1]
        if at in done:
            stack.pop()
            continue
        waiting = [child for child in children(file, at) if child not in done]
        if waiting:
            stack.extend(waiting)
            continue
        stack.pop()
        said = struct.unpack_from("<Q", file.scalars(at))[0]
        said &= _FLAGS | ~((1 << _RANGE_AT) - 1)
        if said != _expected(file, at, done, levels):
            raise CachedDataError(f"the expression at {at} is not what its data says")
        done[at] = said
        if len(done) > _MAX_EXPRESSIONS:
            raise TooLargeError(f"more than {_MAX_EXPRESSIONS} expressions")


def _expected(file: Olean, at: int, done: dict[int, int], levels: dict[int, int]) -> int:
    tag, fields = file.shape(at)[0], file.fields(at)
    flags, reach = 0, 0
    if tag == _BVAR:
        reach = int(file.number(fields[0])) + 1
    elif tag == _SORT:
        flags = _level(file, fields[0], levels)
    elif tag == _CONST:
        for level in file.items(fields[1]):
            flags |= _level(file, level, levels)
    inner = children(file, at)
    for index, child in enumerate(inner):
        flags |= done[child] & _FLAGS
        # The body of a binder is its last child, and sees one variable more.
        binds = tag in (_LAMBDA, _FORALL, _LET) and index == len(inner) - 1
        reach = max(reach, (done[child] >> _RANGE_AT) - binds)
    return flags | reach << _RANGE_AT


def _level(file: Olean, at: int, levels: dict[int, int]) -> int:
    """Returns the flags that a level gives to an expression; its own data is checked."""
    stack = [at]
    while stack:
        here = stack[-1]
        if here in levels:
            stack.pop()
            continue
        tag = file.shape(here)[0]
        inner = [] if tag in _LEVEL_FLAGS else file.fields(here)
        waiting = [one for one in inner if one not in levels]
        if waiting:
            stack.extend(waiting)
            continue
        stack.pop()
        bits = _LEVEL_FLAGS.get(tag, 0)
        for one in inner:
            bits |= levels[one]
        said = struct.unpack_from("<Q", file.scalars(here))[0]
        if said & (3 << 32) != bits:
            raise CachedDataError(f"the level at {here} is not what its data says")
        levels[here] = bits
    bits = levels[at]
    return (_LEVEL_MVAR if bits & 1 << 32 else 0) | (_LEVEL_PARAM if bits & 1 << 33 else 0)
