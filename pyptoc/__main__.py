"""`python -m pyptoc` is `pyptoc`."""

from pyptoc.cli import console_main

if __name__ == "__main__":
    console_main()
