"""The checks of a submitted model: its code, its results and its replays."""
