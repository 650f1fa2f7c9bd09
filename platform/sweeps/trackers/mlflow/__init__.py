"""MLflow. Only this folder knows it.

    runs.py    the tracker: what becomes a run, and what is logged
    client.py  the connection to a server, or to a SQLite file

May import: what trackers may, and MLflow.
To add: what is logged, in runs.py.
"""

from longwave.platform.sweeps.trackers.mlflow.runs import MLflowTracker

TRACKER = MLflowTracker
