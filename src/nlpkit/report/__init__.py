"""A run as one page, and its single pictures."""
