"""Scores with their intervals, comparisons, gates and agreement; pure: nothing here reads, writes or prints."""
