"""One small test for each public bug report that was tried: the input was made anew, the number names the thread."""
