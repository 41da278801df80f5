"""Run directories and tables: how they are written, checked, read again and applied to new documents."""
