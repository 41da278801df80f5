"""Lists of words with weights or categories, and the counting of them in texts."""
