"""The Lab: the leaderboard in a browser."""
