"""Bundles of results between machines, and the checks of an import.

May import: sweeps, storage, boards and what is below.
To add a check: a function ``check_*`` in inspection.py, remade.py or audit.py, named in audit.CHECKS.
"""
