"""Readers of the single formats: text or bytes in, blocks of rows out."""
