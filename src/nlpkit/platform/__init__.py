"""What every capability stands on: options, documents, runs, views, the command line, parallel work."""
