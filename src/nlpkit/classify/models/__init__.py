"""One file for each family of classifiers."""
