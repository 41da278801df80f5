"""Topic models compared on one corpus."""
