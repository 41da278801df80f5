"""Documents as people bring them: files, columns, dates, conditions, a stream of batches."""
