"""From answers to scores: which metrics, their values and intervals, comparisons, and what a user requires of them."""
