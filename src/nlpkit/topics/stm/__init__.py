"""The structural topic model (Roberts, Stewart and Airoldi 2016), and without covariates the correlated topic model."""
