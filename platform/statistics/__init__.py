"""Pure statistics: intervals, tests, ranks and verdicts. Arrays in, numbers out.

May import: numpy, scipy, longwave.platform.statistics and wording.
To add a statistic: a function here and a line in boards/columns.py.
"""
