"""Scores of topics, labels and texts as numbers with intervals; pure."""
