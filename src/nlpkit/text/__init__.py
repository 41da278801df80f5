"""Strings to tokens to term ids."""
