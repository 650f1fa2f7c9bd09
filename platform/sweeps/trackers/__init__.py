"""Trackers: show a sweep elsewhere while it is trained, such as MLflow and W&B.

    tracker.py     what a tracker is           mlflow/, wandb.py    one folder or file a tracker
    follow.py      from the store to a tracker background.py        in a separate process

May import: of sweeps file, plan and place; boards, storage, training's weights and tasks' cards. Each
tracker's library, in its folder or file alone.
To add a tracker: a file here, or of your own for ``--tracker FILE``, that binds ``TRACKER``; tracker.py has an example.
"""
