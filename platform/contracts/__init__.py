"""Rules for every model and task, shipped or plugin: each is a sentence with its check.

``longwave check`` applies them to a plugin, and the tests to everything that is shipped.

May import: models.base, tasks.base; of the platform training and what it may import.
To add a rule: a function that ends in ``require(condition, "what is wrong, in words")``, and its line in RULES.
"""
