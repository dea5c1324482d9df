"""``python -m npaccel``: the command ``npaccel``."""

from npaccel._cli import main

if __name__ == "__main__":
    main(prog_name="npaccel")
