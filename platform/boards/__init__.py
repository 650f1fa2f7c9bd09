"""Boards: ranked rows, the overview, comparisons, re-runs."""
