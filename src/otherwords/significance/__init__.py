"""Intervals and tests: one bootstrap of clusters for every metric, and the paired tests of the papers."""
