"""The command line's contract: exit codes, streams, help, version, bad usage."""
import json
import os

import harness
from harness import run


def commands():
    """The subcommands that `pergola --help` lists."""
    lines = run(["--help"]).stdout.split("Subcommands:")[1].split("Example")[0].splitlines()
    return [line.split()[0] for line in lines if line.startswith("  ") and not line.startswith("   ")]


class Help(harness.CliTest):
    def test_help_for_a_command_that_does_not_exist_is_an_error(self):
        self.bad(2, "nonsense", "--help", says=["nonsense", "expected one of"])
        self.bad(2, "--help", "nonsense", says="nonsense")

    def test_every_command_has_help_with_an_example(self):
        self.assertIn("ic", commands())
        self.assertIn("devices", commands())
        for command in [[], *([c] for c in commands())]:
            for flag in ("--help", "-h"):
                self.assertIn("Example", self.good(*command, flag), command)

    def test_version_names_commit_and_features(self):
        self.assertRegex(self.good("--version"), r"^pergola \d+\.\d+\.\d+ \(commit \S+\)\nCUDA: (yes|no)\nMPI: (yes|no)\n$")


class BadUsage(harness.CliTest):
    def test_no_command_is_refused(self):
        self.bad(2, says=["expected one of", "ic"])

    def test_a_mistyped_command_gets_the_nearest_one(self):
        self.bad(2, "devcies", says=["devcies", "did you mean devices?"])

    def test_a_mistyped_option_gets_the_nearest_one(self):
        self.bad(2, "devices", "--jsno", says=["--jsno", "did you mean --json?"])
        self.bad(2, "--quite", "devices", says=["--quite", "did you mean --quiet?"])

    def test_bad_values_of_global_options_are_named(self):
        self.bad(2, "devices", "--threads", "many", says=["--threads", "expected an integer", "many"])
        self.bad(2, "devices", "--threads", "-1", says=["--threads", "-1"])
        self.bad(2, "devices", "--device", "gpu", says=["--device", "cuda", "gpu"])
        self.bad(2, "devices", "--threads", says=["--threads"])

    def test_unexpected_arguments_are_named(self):
        self.bad(2, "devices", "surplus", says=["surplus"])

    def test_errors_are_also_printed_under_quiet(self):
        self.bad(2, "--quiet", "devcies", says=["did you mean devices?"])


class GlobalOptions(harness.CliTest):
    def test_they_stand_before_or_after_the_command(self):
        before, after = self.good("--json", "--threads", "1", "devices"), self.good("devices", "--json", "--threads", "1")
        self.assertEqual(before, after)
        self.assertEqual(json.loads(before)[0]["device"], "cpu")

    def test_numbers_are_not_written_in_the_locale(self):
        self.good_json("devices", env={"LC_ALL": "de_DE.UTF-8"})


class Output(harness.CliTest):
    def test_a_full_device_is_the_systems_refusal(self):
        with open("/dev/full", "w") as full:
            for args in (["devices"], ["--help"], ["--version"], ["devices", "--json"]):
                self.bad(3, *args, stdout=full, says=["standard output", "No space left"])

    def test_a_closed_pipe_is_the_systems_refusal(self):
        read, write = os.pipe()
        os.close(read)
        with os.fdopen(write, "w") as pipe:
            self.bad(3, "devices", stdout=pipe, says=["standard output", "Broken pipe"])


@harness.needs_mpi
class Processes(harness.CliTest):
    def test_only_one_of_them_speaks(self):
        self.assertEqual(self.good_json("devices", launcher=harness.MPIRUN)[0]["device"], "cpu")

    def test_an_error_is_said_once(self):
        result = run(["devcies"], launcher=harness.MPIRUN)
        self.assertEqual(result.returncode, 2, result.stderr)
        self.assertEqual(result.stderr.count("did you mean devices?"), 1, result.stderr)

    def test_one_that_fails_alone_speaks_and_ends_all(self):
        result = run(["devices", ":", "-n", "1", harness.PROGRAM, "devcies"], launcher=[*harness.MPIRUN[:-1], "1"])
        self.assertEqual(result.returncode, 2, result.stderr)
        self.assertEqual(result.stderr.count("did you mean devices?"), 1, result.stderr)


if __name__ == "__main__":
    harness.main()
