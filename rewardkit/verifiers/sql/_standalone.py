"""A part of a query as a query of its own."""

from sqlglot import exp

from rewardkit.verifiers.sql._subtasks import Subtask

__all__ = ["standalone"]


def standalone(subtask: Subtask) -> exp.Query | None:
    """Returns a subtask as a query of its own, with the CTEs that it may read.

    None for a part of a recursive CTE, which means nothing alone. One that reads a row of a query
    around it will not run.
    """
    query = subtask.query.copy()
    before: list[exp.Expr] = []
    recursive = False
    inner: exp.Expr = subtask.query
    while (above := inner.parent) is not None:
        ctes = above if isinstance(above, exp.With) else above.args.get("with_")
        if isinstance(ctes, exp.With) and ctes is not inner:
            recursive = recursive or bool(ctes.args.get("recursive"))
            every = ctes.expressions
            place = next((i for i, cte in enumerate(every) if cte is inner), len(every))
            if place < len(every) and ctes.args.get("recursive"):
                if subtask.query.parent is not inner:
                    return None
                # It may read itself, so it is asked for by its name.
                query = exp.select("*").from_(exp.to_identifier(every[place].alias))
                place += 1
            before = [*every[:place], *before]
        inner = above
    if before:
        own = query.args.get("with_")
        every = [*before, *(own.expressions if own is not None else ())]
        recursive = recursive or (own is not None and bool(own.args.get("recursive")))
        copies = [cte.copy() for cte in every]
        query.set("with_", exp.With(expressions=copies, recursive=recursive))
    return query
