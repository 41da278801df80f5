"""`python -m nlpkit`."""

from nlpkit.cli.app import main

main()
