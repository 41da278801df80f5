"""Pairs of words near each other."""
