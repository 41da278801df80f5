"""Counts or embeddings to topics."""
