"""What a command says: blocks as plain data, and their writers for a terminal, Markdown and HTML."""
