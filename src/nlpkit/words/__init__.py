"""Vectors of words: learned from corpora, and questions about them."""
