"""Sweeps: from a file to rows of a board, on this machine or on Ray.

    file/  what a sweep file may say        plan/   which trials it needs           place/  where packs of them go
    run/   trains what is missing           on_ray/ workers on Ray                  trackers/ MLflow, W&B

May import: training and what is below it. Each folder imports those before it in this order: file, plan, place, on_ray,
trackers, run; reproduce.py and saved_weights.py serve single rows.
To add to sweeps: find the folder in the list above, and read its ``__init__.py``.
"""
