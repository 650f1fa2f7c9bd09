"""What a sweep file may say, each value checked, and what a search draws from.

May import: training's rules, models and tasks; Optuna in space.py alone.
To add a key: its field in schema.py. To add a sampler: its line in space.py.
"""
