"""A test of several processes, started by mpirun."""

import os
import shutil
import subprocess
import unittest

import harness

MPIRUN = shutil.which("mpirun")


def has_mpi():
    return MPIRUN is not None and "MPI: yes" in harness.run(["--version"]).stdout


@unittest.skipUnless(has_mpi(), "needs mpirun and a build with MPI")
class MpiCase(harness.CliTest):
    def mpirun(self, ranks, *args):
        environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
        return subprocess.run(
            [MPIRUN, "--oversubscribe", "-n", str(ranks), harness.PROGRAM, *map(str, args)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=harness.MPIRUN_SECONDS, env=environment)

    def same_files(self, one, several):
        """The files of two folders, byte by byte."""
        names = [sorted(path.name for path in folder.iterdir()) for folder in (one, several)]
        self.assertEqual(names[0], names[1])
        for name in names[0]:
            self.assertEqual((several / name).read_bytes(), (one / name).read_bytes(), name)
