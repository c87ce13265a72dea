"""`python -m app ingest|ask|serve|...`: command-line words go in, an exit code comes out."""

import sys

from .command import main

if __name__ == "__main__":
    sys.exit(main())
