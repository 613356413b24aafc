"""What runs in a worker for a session: one guarded query on the given rows, or their tables."""

from rewardkit.verifiers.sql._dialects import open_engine, route, translate_query
from rewardkit.verifiers.sql._engines.base import QueryError
from rewardkit.verifiers.sql._guard import parse_query
from rewardkit.verifiers.sql._settings import Settings
from rewardkit.verifiers.sql._work import Explored
from rewardkit.verifiers.sql.reference import Task

__all__ = ["explore"]

_CELL_CHARS = 200


def explore(task: Task, sql: str | None, settings: Settings, most: int) -> Explored:
    """Returns the first rows of a query, or the tables where there is none; nothing is written.

    Args:
        task: the database; it has no reference query, so none can be read here.
        sql: the model's text.
        settings: the limits.
        most: rows that are returned.
    """
    try:
        way = route(task)
        # What cannot be parsed or is not allowed never meets the database.
        query = (
            None
            if sql is None
            else translate_query(parse_query(sql, way.source, way.own_guard), way)
        )
        engine = open_engine(task, way)
        try:
            if query is None:
                lines = [
                    f"{t.name}({', '.join(f'{c.name} {c.kind}' for c in t.columns)})"
                    for t in engine.schema.tables
                ]
                return Explored("ok", columns=("table",), rows=tuple((line,) for line in lines))
            store = engine.given()
            try:
                found = store.run(query.sql, settings.limits(steps=settings.max_steps))
            finally:
                store.close()
        finally:
            engine.close()
    except QueryError as error:
        return Explored(error.kind, message=error.message)
    rows = tuple(tuple(_cell(value) for value in row) for row in found.rows[:most])
    return Explored("ok", columns=found.columns, rows=rows, more=len(found.rows) > most)


def _cell(value: object) -> str:
    text = "NULL" if value is None else str(value)
    return text if len(text) <= _CELL_CHARS else f"{text[:_CELL_CHARS]}…"
