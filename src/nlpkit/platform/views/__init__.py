"""Results as people see them: pictures, pages, tables."""
