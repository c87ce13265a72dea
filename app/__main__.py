"""`python -m app ingest|ask|serve|...`: command-line words go in, an exit code comes out."""

import signal
import sys

if __name__ == "__main__":
    # Until `main` takes it over, Ctrl-C ends the process without a word: there is nothing to tidy, and a traceback tells nobody anything.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    from .command import main

    sys.exit(main())
