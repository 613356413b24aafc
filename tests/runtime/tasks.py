"""Functions that the pool's tests send to workers."""

import collections
import ctypes
import itertools
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NoReturn


def double(x: int) -> int:
    return 2 * x


def hang_in_c() -> None:
    """Holds the GIL in C for ever and looks at no signal."""
    collections.deque(itertools.repeat(0), maxlen=0)
