"""Public bug reports of other programs, each tried on nlpkit with inputs of its kind."""
