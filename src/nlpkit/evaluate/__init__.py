"""Scores of topic models and predictions, with intervals and gates; models side by side."""
