"""The condition that a column is one of many texts, which reach the database as one parameter.

A parameter each would be written into the statement and read again for every query: for a thousand texts that takes
longer than the query.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Dialect
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement
from sqlalchemy.types import TypeEngine


class _Texts(sa.TypeDecorator[Sequence[str]]):
    """Many texts as one parameter: PostgreSQL's array, and JSON for SQLite, which has none."""

    impl = sa.Text
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        """Return the type of the parameter."""
        return dialect.type_descriptor(sa.ARRAY(sa.Text()) if dialect.name == "postgresql" else sa.Text())

    def process_bind_param(self, value: Sequence[str] | None, dialect: Dialect) -> Any:
        """Return the parameter."""
        return value if dialect.name == "postgresql" else json.dumps(value)


class _Among(FunctionElement[bool]):
    """``among(column, texts)``."""

    inherit_cache = True
    type = sa.Boolean()


def among(column: Any, texts: Iterable[str]) -> sa.ColumnElement[bool]:
    """Return the condition that ``column`` is one of ``texts``, of which there may be any number.

    PostgreSQL finds them by the column's index, unless a second condition seems to leave fewer rows: it expects one or
    two for an owner it has never counted, who may hold a hundred thousand. Ask for such a condition afterwards.
    """
    return _Among(column, sa.literal(list(texts), _Texts()))


@compiles(_Among, "sqlite")
def _on_sqlite(element: _Among, compiler: SQLCompiler, **options: Any) -> str:
    column, texts = (compiler.process(clause, **options) for clause in element.clauses)
    return f"{column} IN (SELECT value FROM json_each({texts}))"  # nosec B608  # clauses that were compiled


@compiles(_Among, "postgresql")
def _on_postgresql(element: _Among, compiler: SQLCompiler, **options: Any) -> str:
    column, texts = (compiler.process(clause, **options) for clause in element.clauses)
    return f"{column} = ANY ({texts})"
