"""nlpkit: topic modeling and text pipelines that chain through Parquet. Importing it loads nothing heavy."""

__version__ = "0.1.0"

__all__ = ["__version__"]
