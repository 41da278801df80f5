"""What all topic models share: tokens and options in, a fitted mixture out; runs, tables, choice of k."""
