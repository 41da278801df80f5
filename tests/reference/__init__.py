"""Plain, slow versions of the kernels: what each must give, in the fewest lines. Nothing here uses Numba."""
