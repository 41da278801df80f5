"""Results as people read them: tables, charts and sentences."""
