"""The commands of ``longwave``: their names, functions, and first sentences of help."""

from __future__ import annotations

GROUPS = {
    "tasks": "List the tasks, show one in full, or add data of your own.\n\nExample: longwave tasks adding",
    "sweep": "Plan, run, watch and steer sweeps.",
    "data": "Download data sets, and see where they are.",
    "new": "Write the first file of a model or task of your own.",
    "bench": "Measure this machine.",
    "mlflow": "Copy results to MLflow.",
}
DEFAULTS = {"tasks": "show"}
"""Commands whose name may be left out: ``longwave tasks enso``."""
COMMANDS = {
    "demo": ("run:run_demo", "Run the demo, in a few minutes, and print its board."),
    "start": ("start:start_task", "Begin with data of your own."),
    "board": ("boards:show_boards", "Print the leaderboard of a task, or an overview of all."),
    "compare": ("boards:compare_models", "Compare two models, or two rows, task by task."),
    "show": (
        "rows:show_row",
        "Print one row or one trial in full: settings, seeds, scores, environment, cost and commands.",
    ),
    "diff": (
        "rows:diff_rows",
        "Print what two rows differ in: settings, protocol, data, code, environment and scores.",
    ),
    "budget": ("boards:show_budget", "Print the best validation score of searches with fewer trials."),
    "reproduce": ("reproduce:reproduce_row", "Train a row once more with a fresh seed and check its number."),
    "export": ("reproduce:export_weights", "Write the trained weights of a row's retraining as safetensors."),
    "models": ("listing:show_models", "List the models with their papers, or show one in full."),
    "published": (
        "literature:list_published",
        "List published numbers, what each measures, and which variant of ours it compares with.",
    ),
    "methods": (
        "editions:print_methods",
        "Print what the numbers of a board claim, which tests they rest on, and how often these are wrong.",
    ),
    "dashboard": ("lab:open_lab", "Open the Lab: the leaderboard in a browser, with every seed's curve."),
    "publish": ("editions:publish_edition", "Write an edition: all boards in one folder that is never changed later."),
    "submit": ("exchange:submit_rows", "Write rows as a bundle for another machine."),
    "import": ("exchange:import_rows", "Check bundles, or those of an edition, and add their rows."),
    "check": ("plugins:check_plugin", "Check a model or task of your own, rule by rule, and say what is wrong."),
    "doctor": ("doctor:examine_installation", "Check the installation: versions, devices, folders, store."),
    "tasks show": ("listing:show_tasks", "List the tasks with their metrics, or show one in full."),
    "tasks add": ("own:add_task", "Add data of your own as a task."),
    "tasks remove": ("own:remove_task", "Remove a task of your own."),
    "sweep plan": (
        "sweep:plan_sweep",
        "Print the search trials of a sweep and its expected cost, or where its packs are placed.",
    ),
    "sweep run": ("run:run_sweep", "Run a sweep: search, retrain the winners, store everything."),
    "sweep resume": ("run:resume_sweep", "Resume a sweep that was interrupted."),
    "sweep submit": ("cluster:submit_sweep", "Run a sweep as a job of a Ray cluster, with this Longwave."),
    "sweep logs": ("cluster:print_logs", "Print the log of a sweep's newest job."),
    "sweep status": (
        "steer:show_status",
        "Print a sweep's progress, its processes, its cost so far and the time left.",
    ),
    "sweep list": ("steer:list_sweeps", "List the sweeps of the store with their progress."),
    "sweep watch": ("steer:watch_sweep", "Show a sweep's progress until it is over or interrupted."),
    "sweep edges": (
        "sweep:list_edges",
        "List the winning values that lie at an edge of their search range.",
    ),
    "sweep race": ("sweep:plan_race", "Plan a race of the finalists of a search that is in the store."),
    "sweep study": (
        "study:export_study",
        "Write the search of a sweep as studies of Optuna's, one a cell, which optuna-dashboard shows.",
    ),
    "sweep importance": (
        "study:show_importance",
        "Print the importance of each parameter that a sweep searched, by one of Optuna's evaluators.",
    ),
    "sweep pause": (
        "steer:pause_sweep",
        "Pause a sweep: its drivers save checkpoints, release their trials and wait until `sweep continue`.",
    ),
    "sweep continue": ("steer:continue_sweep", "Continue a paused sweep."),
    "sweep stop": ("steer:stop_sweep", "Stop a sweep: its drivers save checkpoints and exit."),
    "sweep retry": ("steer:retry_trials", "Queue the failed trials of a sweep again."),
    "data fetch": ("data:fetch_data", "Download the data of a task, check and unpack them."),
    "data list": ("data:list_data", "List each task's data set: where it is, whether it is complete, and its licence."),
    "new model": (
        "new:write_model",
        "Write a model of your own: a commented file that trains and passes all checks.",
    ),
    "new task": (
        "new:write_task",
        "Write a task of your own: a commented file that trains and passes all checks.",
    ),
    "bench sweep": (
        "bench:measure_sweeps",
        "Measure what packing saves on FitzHugh-Nagumo, and the time a sweep spends outside training.",
    ),
    "bench kernels": ("bench:measure_kernels", "Check the fused time loops, then time them."),
    "bench data": ("bench:measure_data", "Measure the memory that loading and feeding a task takes."),
    "bench board": ("bench:measure_boards", "Measure how long boards take with many generated runs."),
    "mlflow sync": ("mlflow:send_to_mlflow", "Send MLflow the results of a sweep that it does not have yet."),
}
