"""`nlpkit` and `python -m nlpkit`. Nothing is imported before Ctrl-C can be reported on one line."""


def main() -> None:
    """Run the command line."""
    try:
        from nlpkit.platform.cli.app import main as run

        run()
    except KeyboardInterrupt as stopped:  # while modules were loaded, or after the end of the command
        import os

        os.write(2, b"error: interrupted; nothing was written\n")
        os._exit(128 + getattr(stopped, "number", 2))  # that of SIGTERM is 15


if __name__ == "__main__":
    main()
