"""Databases that tell queries apart: a recipe for each, in the order in which they tell most."""

import random
from collections.abc import Collection, Iterator, Sequence
from typing import Any

from rewardkit.verifiers.sql._checks import Checks
from rewardkit.verifiers.sql._clues import Clues
from rewardkit.verifiers.sql._engines.base import Data, Row
from rewardkit.verifiers.sql._recipes import Recipe, recipe
from rewardkit.verifiers.sql._schema import Column, ForeignKey, Schema, Table
from rewardkit.verifiers.sql._values import Domain, make_domain

__all__ = ["Generator"]

_MAX_ROWS = 60
_LEADING = 0.8
_PATCHES = (0.0, 0.4, 0.7)


class Generator:
    """Fills a schema by recipes. The same numbers give the same data, always and everywhere."""

    def __init__(
        self,
        schema: Schema,
        samples: Data,
        clues: Clues,
        checks: Checks | None = None,
        read: Collection[str] = (),
    ) -> None:
        self.schema = schema
        self.read = [t.name for t in schema.tables if not read or t.name.lower() in read]
        """The tables that the references read, or all."""
        self._clues = clues
        self._domains: dict[tuple[str, str], Domain] = {}
        for table in schema.tables:
            given = samples.get(table.name, ())
            for place, column in enumerate(table.columns):
                known = [row[place] for row in given]
                tests = (checks or {}).get((table.name.lower(), column.name.lower()), ())
                self._domains[table.name, column.name] = make_domain(column, known, clues, tests)
        self._key_names = {
            key[0].lower(): (table.name, key[0])
            for table in reversed(schema.tables)
            for key in table.keys
            if len(key) == 1
        }

        self.parents = frozenset(self._parents())
        """Tables that other ones refer to, declared or not."""

    def _parents(self) -> Iterator[str]:
        for table in self.schema.tables:
            for key in table.foreign:
                found = self.schema.find(key.parent)
                if found is not None and found is not table:
                    yield found.name
            for column in table.columns:
                soft = self.soft_parent(table, column)
                if soft is not None and soft[0] != table.name:
                    yield soft[0]

    def make(self, number: int) -> Data:
        """Returns the rows of the database with this number."""
        return _Filling(self, recipe(number), random.Random(f"rewardkit {number}")).data()

    def domain(self, table: Table, column: Column) -> Domain:
        """Returns the values of a column."""
        return self._domains[table.name, column.name]

    def soft_parent(self, table: Table, column: Column) -> tuple[str, str] | None:
        """Returns the key that a column seems to refer to without saying so."""
        for name in self._clues.linked(column.name):
            found = self._key_names.get(name)
            if found is not None and found != (table.name, column.name):
                return found
        found = self._key_names.get(column.name.lower())
        return found if found is not None and found[0] != table.name else None

    def group_rows(self) -> int:
        """Returns how many rows put more into a group than any count in the queries."""
        most = max(self._clues.counts, default=3)
        return min(max(10, 2 * most + 3), _MAX_ROWS)


class _Filling:
    """One database in the making."""

    def __init__(self, generator: Generator, recipe: Recipe, dice: random.Random) -> None:
        self._generator = generator
        self._recipe = recipe
        self._dice = dice
        self._rows: dict[str, list[dict[str, Any]]] = {}
        self._nulls: dict[tuple[str, str], float] = {}
        self._pools: dict[tuple[str, str], tuple[list[Any], list[Any]]] = {}

    def data(self) -> Data:
        for table in self._generator.schema.tables:
            self._fill(table)
        return {
            table.name: [
                tuple(row[c.name] for c in table.columns) for row in self._rows[table.name]
            ]
            for table in self._generator.schema.tables
        }

    def _fill(self, table: Table) -> None:
        if table.name in self._rows:
            return
        rows: list[dict[str, Any]] = []
        self._rows[table.name] = rows
        for key in table.foreign:
            parent = self._generator.schema.find(key.parent)
            if parent is not None:
                self._fill(parent)
        seen: list[set[Row]] = [set() for _ in table.keys]
        for number in range(self._count(table)):
            for attempt in range(8):
                row = self._row(table, number, rows, attempt)
                made = [tuple(row[name] for name in key) for key in table.keys]
                # NULL in a key repeats as often as it likes.
                taken = any(None not in k and k in old for k, old in zip(made, seen, strict=True))
                if not taken:
                    for k, old in zip(made, seen, strict=True):
                        old.add(k)
                    rows.append(row)
                    break

    def _count(self, table: Table) -> int:
        if self._recipe.empty and self._dice.random() < self._recipe.empty:
            return 0
        rows, skip, read = self._recipe.rows, self._recipe.skip, self._generator.read
        if skip is not None and read and table.name == read[skip % len(read)]:
            return 0
        if self._recipe.parents is not None and table.name in self._generator.parents:
            return self._recipe.parents
        if self._recipe.name == "groups":
            rows = self._generator.group_rows()
        return rows + (rows // 2 if table.foreign else 0)

    def _row(
        self, table: Table, number: int, earlier: Sequence[dict[str, Any]], attempt: int
    ) -> dict[str, Any]:
        row: dict[str, Any] = {}
        for key in table.foreign:
            row |= self._refer(table, key, earlier)
        single = {key[0] for key in table.keys if len(key) == 1}
        several = {name for key in table.keys if len(key) > 1 for name in key}
        for column in table.columns:
            if column.name in row:
                continue
            if column.name in single:
                row[column.name] = self._key(table, column, number, attempt)
            elif attempt > 3 and column.name in several and column.kind in ("int", "real"):
                row[column.name] = number  # few values make few combinations, and so few rows
            elif column.nullable and self._dice.random() < self._null(table, column):
                row[column.name] = None
            else:
                row[column.name] = self._value(table, column, earlier)
        return row

    def _null(self, table: Table, column: Column) -> float:
        if self._recipe.beside and not self._generator.domain(table, column).focus:
            return self._recipe.beside
        if not self._recipe.patchy:
            return self._recipe.null
        place = (table.name, column.name)
        if place not in self._nulls:
            self._nulls[place] = self._dice.choice(_PATCHES)
        return self._nulls[place]

    def _refer(
        self, table: Table, key: ForeignKey, earlier: Sequence[dict[str, Any]]
    ) -> dict[str, Any]:
        columns = {c.name.lower(): c for c in table.columns}
        own = [columns[name.lower()] for name in key.columns if name.lower() in columns]
        parents: Sequence[dict[str, Any]] = self._rows.get(self._named(key.parent), [])
        nullable = all(c.nullable for c in own)
        if self._recipe.chain and key.parent.lower() == table.name.lower():
            parents = earlier[-1:]
        if not parents or (nullable and self._dice.random() < self._recipe.null):
            # A parent without rows, or one that waits for this table: the engine drops the row
            # where NULL is not allowed.
            return {c.name: None for c in own}
        parent = self._dice.choice(self._narrow(parents))
        lowered = {name.lower(): value for name, value in parent.items()}
        return {
            c.name: lowered.get(name.lower())
            for c, name in zip(own, key.parent_columns, strict=False)
        }

    def _narrow(self, rows: Sequence[dict[str, Any]]) -> Sequence[dict[str, Any]]:
        return rows if self._recipe.width is None else rows[: max(2, self._recipe.width)]

    def _named(self, name: str) -> str:
        found = self._generator.schema.find(name)
        return name if found is None else found.name

    def _key(self, table: Table, column: Column, number: int, attempt: int) -> Any:  # noqa: ANN401
        domain = self._generator.domain(table, column)
        focus = [] if self._recipe.shift else list(domain.focus)
        asked, focus = (focus[:1], focus[1:]) if self._recipe.chain else ([], focus)
        if asked and attempt == 0 and number == (self._recipe.rows - 1) * self._recipe.tail:
            return asked[0]
        if self._recipe.wanted and attempt == 0 and number < len(domain.wanted):
            # What refers to this table refers to its first rows, so conditions on keys are met.
            return domain.wanted[number]
        if focus and self._dice.random() < 0.5 * self._recipe.focus and attempt < 4:
            return self._dice.choice(focus)
        if column.kind in ("int", "real"):
            if self._recipe.shift:
                number += 1 + max((v for v in domain.focus if 0 <= v < 1000), default=0)
            spread = attempt > 0 or (self._recipe.width is None and not self._recipe.chain)
            key = number + 1 + self._dice.randrange(3) * spread
            return key + 2 * self._recipe.rows if key in asked else key
        plain = [value for value in (*domain.plain, *focus) if value not in asked]
        if attempt < 4 and plain:
            return self._dice.choice(plain)
        text = plain[number % len(plain)] if plain else ""
        return f"{text}{number}" if isinstance(text, str) and column.kind == "text" else text

    def _value(self, table: Table, column: Column, earlier: Sequence[dict[str, Any]]) -> Any:  # noqa: ANN401
        soft = self._generator.soft_parent(table, column)
        if soft is not None and self._dice.random() >= self._recipe.orphans:
            rows = earlier if soft[0] == table.name else self._rows.get(soft[0], [])
            if self._recipe.chain and soft[0] == table.name:
                rows = earlier[-1:]
            if rows:
                return self._dice.choice(self._narrow(rows))[soft[1]]
        if self._recipe.chain and not earlier:
            # The head of a chain is what a condition on the first row would pick.
            if soft is not None and column.nullable:
                return None
            domain = self._generator.domain(table, column)
            if domain.focus:
                return domain.focus[0]
        if self._recipe.wanted and self._dice.random() < self._recipe.wanted:
            wanted = self._generator.domain(table, column).wanted
            if wanted:
                return self._dice.choice(wanted)
        focus, plain = self._pool(table, column)
        if focus and self._recipe.cycle:
            return focus[len(earlier) % len(focus)]
        if focus and (not plain or self._dice.random() < self._recipe.focus):
            return self._dice.choice(focus)
        return self._dice.choice(plain or [0])

    def _pool(self, table: Table, column: Column) -> tuple[list[Any], list[Any]]:
        """Returns the values that this database has of a column: around constants, and others."""
        known = self._pools.get((table.name, column.name))
        if known is None:
            domain = self._generator.domain(table, column)
            width = self._recipe.width or len(domain.focus) + len(domain.plain)
            # The constants themselves come first in a domain, and are in most databases.
            few = max(1, round(width * self._recipe.focus))
            first = list(domain.focus[:1]) if self._dice.random() < _LEADING else []
            focus = first + self._sample(domain.focus[len(first) :], few - len(first))
            plain = self._sample(domain.plain, max(1, width - len(focus)))
            known = self._pools[table.name, column.name] = (focus, plain)
        return known

    def _sample(self, values: Sequence[Any], count: int) -> list[Any]:
        return self._dice.sample(list(values), min(max(count, 0), len(values)))
