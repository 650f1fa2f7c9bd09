"""The results store: schema, migrations, queries. The one folder that knows SQLAlchemy.

May import: records, literature, boards, and the ranges of longwave.models.base.param.
To add a column: the record that holds it, schema.py, and a migration in migrations/versions/ with the next number.
"""
