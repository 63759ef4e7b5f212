"""What a process has to do with the others of its MPI job: nothing, and they must not meet in one directory."""
import fcntl
import os
import warnings

from ._settings import error

_SIZES = {"OMPI_COMM_WORLD_SIZE": "OMPI_COMM_WORLD_RANK", "PMI_SIZE": "PMI_RANK", "SLURM_STEP_NUM_TASKS": "SLURM_PROCID"}
_held = {}
_warned = False


def _place():
    """(rank, size) of this process in the job that started it; None where there is no other."""
    for size, rank in _SIZES.items():
        if os.environ.get(size, "1").isdigit() and int(os.environ.get(size, "1")) > 1:
            return os.environ.get(rank, "?"), int(os.environ[size])
    return None


def warn_of_others():
    """Once: whoever starts a script with mpirun may expect one simulation, and gets as many as there are processes."""
    global _warned
    place = _place()
    if not place or _warned:
        return
    _warned = True
    warnings.warn(f"process {place[0]} of {place[1]}: in Python each process has simulations of its own, which know nothing of the "
                  "others; give each its own directory. `mpirun pergola run` shares one run out", stacklevel=4)


def hold(directory):
    """Of a job no two processes save states in one directory: they would replace each other's."""
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
