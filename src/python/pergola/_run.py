"""Managed runs, as `pergola run` makes them; the progress bar; and processes of one MPI job, which know nothing of each other."""
# run() is `pergola run` in this process. The rest guards against mpirun: Python has no ranks, so each process of a job
# runs for itself, and two of them must not write into the same directory.
import fcntl
import json
import os
import sys
import time
import warnings

from . import _core
from ._settings import configured, error, lines, settings

# Variables in which the launchers of Open MPI, MPICH and Slurm state the number of processes and the own number.
_SIZES = {"OMPI_COMM_WORLD_SIZE": "OMPI_COMM_WORLD_RANK", "PMI_SIZE": "PMI_RANK", "SLURM_STEP_NUM_TASKS": "SLURM_PROCID"}
# Locked directories by their real paths: the file descriptor of each lock.
_held = {}
_warned = False


# The launchers set these variables before Python starts, so no MPI call is needed.
def _place():
    """(rank, size) of this process in the MPI job that started it; None if it is alone."""
    for size, rank in _SIZES.items():
        if os.environ.get(size, "1").isdigit() and int(os.environ.get(size, "1")) > 1:
            return os.environ.get(rank, "?"), int(os.environ[size])
    return None


# A warning and not an error: separate simulations in one job are useful, e.g. with different seeds.
def warn_of_others():
    """Warns once: a script under mpirun makes one simulation per process, not one for all."""
    global _warned
    place = _place()
    if not place or _warned:
        return
    _warned = True
    warnings.warn(f"process {place[0]} of {place[1]}: in Python each process has simulations of its own, which know nothing of the "
                  "others; give each its own directory. `mpirun pergola run` shares one run out", stacklevel=4)


# A lock of the system, not a file that exists: it ends with the process, even if that is killed.
def hold(directory):
    """Locks a directory for this process: processes of a job would replace each other's states in it."""
    if not _place():
        return
    path = os.path.realpath(directory)
    if path in _held:
        return
    os.makedirs(path, exist_ok=True)
    file = os.open(os.path.join(path, ".lock"), os.O_RDWR | os.O_CREAT, 0o666)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(file)
        raise error(f"{directory}: another process of this job saves its states here; expected a directory for each") from None
    _held[path] = file  # as long as the process lives


# For run() here and in Simulation. Times are those of the simulation; the time left is in seconds of wall clock.
class Progress:
    """A progress bar of plain text on stderr: one line, in a terminal or a notebook.

    >>> import io
    >>> out = io.StringIO()
    >>> with Progress(0, 2, enabled=True, out=out, least_seconds=0) as bar:
    ...     bar.show(1.0)
    >>> "50 %" in out.getvalue()
    True
    """

    WIDTH = 30

    def __init__(self, begin, end, enabled, out=None, least_seconds=0.1):
        self.begin, self.end, self.enabled = begin, end, enabled
        self._out = out if out is not None else sys.stderr
        self._least = least_seconds
        self._started = self._shown = time.monotonic()

    def __enter__(self):
        return self

    # The bar shows its end only if no error has ended the block.
    def __exit__(self, kind, value, trace):
        if self.enabled:
            if kind is None:
                self._shown = 0
                self.show(self.end)
            self._out.write("\n")
            self._out.flush()

    # The bar is redrawn in place with a carriage return, so it needs no terminal library.
    def show(self, now):
        """At most a few times a second."""
        clock = time.monotonic()
        if not self.enabled or clock - self._shown < self._least:
            return
        self._shown = clock
        done = 1.0 if self.end == self.begin else min(1.0, max(0.0, (now - self.begin) / (self.end - self.begin)))
        left = (clock - self._started) * (1 - done) / done if done > 0 else 0.0
        bar = "#" * round(self.WIDTH * done)
        self._out.write(f"\r[{bar:<{self.WIDTH}}] {100 * done:3.0f} %  t = {now:g}  {left:.0f} s left ")
        self._out.flush()


# The library's own driver does the run: the same bits and files as from the command line.
def run(config, output, resume=False, overwrite=False, progress=False, **keywords):
    """Runs a configuration (a TOML file or a dict, gravity or plasma) into the directory ``output`` as `pergola run` does, with
    energy.csv, snapshots and checkpoints, and returns what run.json says. Ctrl-C ends it with a checkpoint.

    >>> import pergola, tempfile, os
    >>> place = os.path.join(tempfile.mkdtemp(), "run")
    >>> card = pergola.run({"particles": {"model": "kepler"}, "run": {"end_time": 0.5}}, place)
    >>> sorted(os.listdir(place))[:2], card["status"]
    (['checkpoint', 'energy.csv'], 'finished')
    """
    warn_of_others()
    found = settings(keywords, config if isinstance(config, dict) else None)
    sets = lines(found)
    made = configured(_core.Config.parse, "", "run", sets) if isinstance(config, dict) else configured(_core.Config.read, os.fspath(config), sets)
    with Progress(0.0, made.end_time, enabled=progress) as bar:
        show = (lambda time, end, left: bar.show(time)) if progress else None
        return json.loads(_core.run(made, os.fspath(output), resume, overwrite, show))
