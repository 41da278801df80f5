"""Scores of topics, clusterings and predictions."""
