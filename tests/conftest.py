"""What all tests share: compiled code, also those that have a cache of their own."""

import os

from suite.core.paths import cache_folder

os.environ.setdefault("NUMBA_CACHE_DIR", str(cache_folder() / "numba"))
