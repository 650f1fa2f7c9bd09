"""All learning rate schedules that a recipe may name, one file each.

May import: models.base.param, longwave.platform.training.schedule.
To add a schedule: one file here that binds SCHEDULE = Schedule(...). It is found automatically; there is no list to
edit.
"""
