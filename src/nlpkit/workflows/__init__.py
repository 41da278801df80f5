"""What a command does, callable from Python: documents and options in, models and tables out."""
