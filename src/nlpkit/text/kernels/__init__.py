"""Numba loops over bytes and terms."""
