"""The condition that a column is one of many texts, which are passed to the database as one parameter.

With a parameter for each text, the statement would be rendered and parsed again for every query: for a thousand texts
that takes longer than the query itself.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any, TypeVarTuple

import sqlalchemy as sa
from sqlalchemy.engine import Dialect
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement
from sqlalchemy.types import TypeEngine

SelectedColumns = TypeVarTuple("SelectedColumns")


class _Texts(sa.TypeDecorator[Sequence[str]]):
    """Many texts as one parameter: an array in PostgreSQL, and JSON in SQLite, which has no arrays."""

    impl = sa.Text
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        return dialect.type_descriptor(sa.ARRAY(sa.Text()) if dialect.name == "postgresql" else sa.Text())

    def process_bind_param(self, value: Sequence[str] | None, dialect: Dialect) -> Any:
        return value if dialect.name == "postgresql" else json.dumps(value)


class _InClause(FunctionElement[bool]):
    inherit_cache = True
    type = sa.Boolean()


def in_clause(column: Any, texts: Iterable[str]) -> sa.ColumnElement[bool]:
    """Return the condition that ``column`` is one of ``texts``, of which there may be any number.

    PostgreSQL uses the column's index unless it estimates that a second condition leaves fewer rows. For an owner
    without statistics it expects one or two, even if there are a hundred thousand: filter by owner afterwards.
    """
    return _InClause(column, sa.literal(list(texts), _Texts()))


def select_in(
    connection: sa.Connection, query: sa.Select[*SelectedColumns], column: Any, texts: Collection[str]
) -> Iterator[sa.Row[*SelectedColumns]]:
    """Yield the rows of a query in which ``column`` is one of ``texts``, reading them in batches."""
    for part in split_ids(sorted(texts)):
        yield from connection.execute(query.where(in_clause(column, part)))


def split_ids(ids: Sequence[str], size: int = 10_000) -> list[Sequence[str]]:
    """Return ``ids`` in parts that are small enough for one query, and whose rows fit in memory."""
    return [ids[k : k + size] for k in range(0, len(ids), size)]


@compiles(_InClause, "sqlite")
def _compile_for_sqlite(element: _InClause, compiler: SQLCompiler, **options: Any) -> str:
    column, texts = (compiler.process(clause, **options) for clause in element.clauses)
    return f"{column} IN (SELECT value FROM json_each({texts}))"  # nosec B608  # compiled clauses


@compiles(_InClause, "postgresql")
def _compile_for_postgresql(element: _InClause, compiler: SQLCompiler, **options: Any) -> str:
    column, texts = (compiler.process(clause, **options) for clause in element.clauses)
    return f"{column} = ANY ({texts})"
