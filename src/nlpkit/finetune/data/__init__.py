"""Documents as a network reads them."""
