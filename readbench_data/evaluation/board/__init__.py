"""The leaderboard: the table, and its text, file and page forms."""
