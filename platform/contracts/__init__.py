"""What every model and every task keeps to, shipped or plugin: rules in words, each with the check that it holds.

``longwave check`` runs them on a plugin, the tests on all that is shipped.

May import: models.base, tasks.base; of the platform training and what it may import.
To add a rule: a function that ends in ``need(condition, "what is wrong, in words")``, and its line in RULES.
"""
