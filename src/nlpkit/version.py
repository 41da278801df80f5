"""The version, in a module of its own: what the package exports imports modules that write it into files."""

__version__ = "0.1.0"
