"""Topics merged, split, renamed or dropped after the fit."""
