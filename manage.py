#!/usr/bin/env python
"""The project's command line; ``suture X`` and ``manage.py X`` are the same."""

import sys

from sessions_app.entry import main

if __name__ == "__main__":
    sys.exit(main())
