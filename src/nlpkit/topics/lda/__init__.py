"""Latent Dirichlet allocation by collapsed Gibbs sampling, and the models built on it."""
