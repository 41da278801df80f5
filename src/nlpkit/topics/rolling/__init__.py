"""RollingLDA: topics that stay the same ones over time."""
