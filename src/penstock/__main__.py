"""Where the command `penstock` begins, installed or as `python -m penstock`.

Nothing is imported on top: a Ctrl-C is heard from the first line on, also while all the rest is being imported.
"""


def main() -> None:
    """Run the command line and exit."""
    try:
        from penstock.cli.running.interrupt import leave_when_interrupted

        leave_when_interrupted()
        from penstock.cli.main import main as command

        command()
    except KeyboardInterrupt:
        raise SystemExit(130) from None


if __name__ == "__main__":
    main()
