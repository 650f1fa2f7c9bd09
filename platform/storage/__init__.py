"""The results store: schema, database, queries, the published numbers it comes with."""
