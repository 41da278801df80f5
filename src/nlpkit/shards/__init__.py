"""Documents in parts: by hand with --shard, or divided by Ray."""
