"""What a sweep file may say, with each value checked, and the search spaces.

May import: training's rules, models and tasks, search/.
To add a key: its field in schema.py; what it may not go together with, in reading.py.
"""
