"""``python -m npaccel``: the command ``npaccel``."""

from npaccel._tools.cli import main

if __name__ == "__main__":
    main(prog_name="npaccel")
