"""Run programs, and check command lines that ldpkit must refuse."""

import subprocess
import sys

REST = (
    "epsilon delta trials alpha seed attack faithful how pair questions tp fp tpr fpr epsilon_emp"
    " lower exact_epsilon_emp exact_sd claim violated status verdict warnings directions seconds"
    " cause digest versions schema_version"
).split()
"""Keys of the JSON of an audit, after the mechanism and its parameters."""


def python(code, *words, **more):
    """Run a program of Python: standard output, standard error."""
    command = [sys.executable, "-c", code, *words]
    done = subprocess.run(command, capture_output=True, text=True, check=True, **more)
    return done.stdout, done.stderr


def one_line(err):
    """Return whether standard error is the single line that a refusal prints."""
    return err.startswith("ldpkit: ") and err.count("\n") == 1 and err.endswith("\n")


def refused(call, rows):
    """Return the rows (command line, part of its message) not refused in one line with status 2."""
    wrong = []
    for text, message in rows:
        status, out, err = call(text)
        if (status, out) != (2, "") or not one_line(err) or message not in err:
            wrong.append((text, status, out, err))
    return wrong
