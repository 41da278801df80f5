"""Keywords in context, and what a pattern is worth as a classifier."""
