"""The version, in a separate module, since modules that the package exports write it into files."""

__version__ = "0.1.0"
