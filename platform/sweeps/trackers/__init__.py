"""Trackers: what shows a sweep elsewhere while it is trained, as MLflow and W&B do.

    tracker.py     what a tracker is     mlflow.py, wandb.py  one file a tracker
    follow.py      the store to one      background.py        in a process of its own

May import: of sweeps file, plan and place; storage and training's weights. Each tracker's library, in its file alone.
To add a tracker: a file here, or of your own for ``--tracker FILE``, that binds ``TRACKER``; tracker.py has an example.
"""
