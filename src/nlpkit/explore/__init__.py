"""A corpus looked at: counts, keywords in context, collocations, likeness, clusters."""
