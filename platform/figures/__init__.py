"""Figures of boards, sweeps and costs: from records to Vega-Lite, identical in the Lab and in an edition.

May import: wording, boards, statistics, records; altair and vl_convert, or matplotlib and scikit_posthocs.
To add one: a file with a function that takes records and returns a ``Figure``.
"""
