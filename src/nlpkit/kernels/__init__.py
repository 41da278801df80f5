"""Numba loops: arrays in, arrays out. They trust the shapes and types their callers fixed."""
