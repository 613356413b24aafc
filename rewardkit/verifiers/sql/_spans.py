"""Where the CTEs of a query and its main query stand in its text."""

import sqlglot
from sqlglot.errors import SqlglotError

__all__ = ["cte_spans"]


def cte_spans(sql: str, dialect: str) -> list[tuple[int, int]] | None:
    """Returns the spans of the CTEs of a query, name first, and of its main query as the last.

    None where the text is not of the shape `WITH name AS (…), … SELECT …` or without a WITH.

    >>> sql = "WITH a AS (SELECT 1), b AS (SELECT 2) SELECT * FROM a, b"
    >>> [sql[start:end] for start, end in cte_spans(sql, "sqlite")]
    ['a AS (SELECT 1)', 'b AS (SELECT 2)', 'SELECT * FROM a, b']
    """
    try:
        tokens = sqlglot.tokenize(sql, read=dialect)
    except (SqlglotError, ValueError):
        return None
    kinds = sqlglot.TokenType
    while tokens and tokens[0].token_type is kinds.SEMICOLON:
        tokens = tokens[1:]
    while tokens and tokens[-1].token_type is kinds.SEMICOLON:
        tokens = tokens[:-1]
    if not tokens:
        return None
    end = tokens[-1].end + 1
    if tokens[0].token_type is not kinds.WITH:
        return [(tokens[0].start, end)]
    spans: list[tuple[int, int]] = []
    i = 1 + (len(tokens) > 1 and tokens[1].text.upper() == "RECURSIVE")
    while i < len(tokens):
        start, depth, body = tokens[i].start, 0, False
        while i < len(tokens):
            kind = tokens[i].token_type
            body = body or (kind is kinds.ALIAS and depth == 0)
            depth += (kind is kinds.L_PAREN) - (kind is kinds.R_PAREN)
            if body and depth == 0 and kind is kinds.R_PAREN:
                break
            i += 1
        if i + 1 >= len(tokens):
            return None
        spans.append((start, tokens[i].end + 1))
        i += 1
        if tokens[i].token_type is not kinds.COMMA:
            return [*spans, (tokens[i].start, end)]
        i += 1
    return None
