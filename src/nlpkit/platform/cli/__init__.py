"""The command line: reads, calls one core function, writes, says what was written."""
