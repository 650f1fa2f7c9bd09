"""The results store: schema, migrations, queries. The one folder that knows SQLAlchemy.

May import: records, literature, boards.
To add a column: schema.py, a migration in migrations/versions/, and the record that holds it.
"""
