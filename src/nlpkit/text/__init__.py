"""Texts to tokens to term ids."""
