"""Pictures: charts and word clouds, as bytes. Knows arrays only; `io` writes the files. Needs the extra 'report'."""
