"""Models and tasks from outside the package: found, read once, named in a separate namespace, and run.

They come from entry points ``longwave.models`` and ``longwave.tasks`` of installed packages, from files and folders
named by the user, and from ``plugins/`` in the data folder. A plugin is its text, whose hash is the version of its
models and tasks. A copy stored under that hash is what runs, so workers run the same text.

May import: models.base.spec, tasks.base, tasks.cards; of the platform redaction, errors, paths and records.
To add a source: a function in discovery.py that yields plugins.
"""
