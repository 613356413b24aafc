"""Compares what Rocq prints about two files, up to the names of bound variables."""

import re
from dataclasses import dataclass, field

__all__ = ["rename_bound"]

_TOKEN = re.compile(r":=|=>|[\w'.]+|\S")
_BINDERS = frozenset({"forall", "fun", "fix", "cofix"})
_NAME = re.compile(r"[^\W\d][\w']*")
_FAMILY = re.compile(r"(?:Inductive|CoInductive|Variant|Record|Class)\b")


@dataclass
class _Scopes:
    """The bound variables that are visible at a place, and where each scope ends."""

    visible: list[tuple[str, int, int]] = field(default_factory=list)
    """Name, number, depth of brackets of the binder."""
    count: int = 0

    def bind(self, name: str, depth: int) -> str:
        self.count += 1
        self.visible.append((name, self.count, depth))
        return f"?{self.count}"

    def close(self, depth: int) -> None:
        """Ends the scopes that began deeper than this."""
        while self.visible and self.visible[-1][2] > depth:
            self.visible.pop()

    def show(self, name: str) -> str:
        for bound, number, _ in reversed(self.visible):
            if bound == name:
                return f"?{number}"
        return name


def rename_bound(printed: str) -> str:
    """Returns printed terms whose bound variables are numbered, each in its own scope.

    A name outside of its binder's scope stays: it is a constant that is called alike. Lines about
    the names of arguments are left out.

    >>> rename_bound("t : forall (S : nat) (_ : P S), Q (S O)") == rename_bound(
    ...     "t : forall (n : nat) (_ : P n), Q (n O)"
    ... )
    True
    >>> rename_bound("f (fun S : nat => S) S") == rename_bound("f (fun n : nat => n) n")
    False
    """
    scopes = _Scopes()
    items = re.split(r"^(?=\S)", printed, flags=re.MULTILINE)
    kept = [item for item in items if not item.startswith("Arguments ")]
    return "\n".join(_item(item, scopes) for item in kept)


def _item(item: str, scopes: _Scopes) -> str:
    scopes.close(-1)
    family = _FAMILY.match(item) is not None
    shown: list[str] = []
    depth = 0
    binders: list[int] = []  # depths of the binders whose names are still being read
    names = False
    for token in _TOKEN.findall(item):
        if token in (")", "]", "}"):
            depth -= 1
            scopes.close(depth)
        if family and depth == 0 and token in ("|", "with"):
            scopes.close(-1)
        if token in _BINDERS:
            shown.append(token)
        elif binders and names and token != "_" and _NAME.fullmatch(token):
            shown.append(scopes.bind(token, binders[-1]))
        else:
            shown.append(scopes.show(token))
        if token in _BINDERS:
            binders.append(depth)
            names = True
        elif token == ":":
            names = False
        elif binders and depth == binders[-1] and token == "(":
            names = True
        elif binders and depth == binders[-1] and token in (",", "=>", ":="):
            binders.pop()
            names = False
        depth += token in ("(", "[", "{")
    return " ".join(shown)
