"""Sentiment without training, by lexicons."""
