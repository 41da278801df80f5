"""Topic models: a folder for each, what all share in base, and tools for any run."""
