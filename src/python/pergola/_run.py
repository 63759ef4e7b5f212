"""Managed runs, as `pergola run` makes them."""
import json
import os

from . import _core, _job
from ._progress import Progress
from ._settings import lines, settings


def run(config, output, resume=False, overwrite=False, progress=False, **keywords):
    """Runs a configuration (a TOML file or a dict, gravity or plasma) into the directory ``output`` as `pergola run` does, with
    energy.csv, snapshots and checkpoints, and returns what run.json says. Ctrl-C ends it with a checkpoint.

    >>> import pergola, tempfile, os
    >>> place = os.path.join(tempfile.mkdtemp(), "run")
    >>> card = pergola.run({"particles": {"model": "kepler"}, "run": {"end_time": 0.5}}, place)
    >>> sorted(os.listdir(place))[:2], card["status"]
    (['checkpoint', 'energy.csv'], 'finished')
    """
    _job.warn_of_others()
    found = settings(keywords, config if isinstance(config, dict) else None)
    sets = lines(found)
    made = _core.Config.parse("", "run", sets) if isinstance(config, dict) else _core.Config.read(os.fspath(config), sets)
    with Progress(0.0, made.end_time, enabled=progress) as bar:
        show = (lambda time, end, left: bar.show(time)) if progress else None
        return json.loads(_core.run(made, os.fspath(output), resume, overwrite, show))
