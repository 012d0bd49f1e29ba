"""A release as the task a method gets: labels, aligned windows, and one view per pollution level."""
