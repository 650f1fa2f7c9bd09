"""What a sweep file may say, with each value checked, and the search spaces.

May import: training's rules, models and tasks; Optuna in space.py alone.
To add a key: its field in schema.py. To add a sampler: its line in space.py.
"""
