"""Two runs compared: matched, split, merged, vanished and new topics."""
