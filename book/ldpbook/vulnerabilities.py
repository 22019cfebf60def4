"""Look up the locked releases among the known vulnerabilities; the exit status is 4 if no database can be reached."""

import re
import subprocess
import sys

from .paths import ROOT


def main() -> None:
    """Check the lock file of readers, and exit with the status of the check."""
    program = str(ROOT / "_build/pip-audit/bin/pip-audit")
    command = [program, "--strict", "--disable-pip", "--require-hashes", "-r", "requirements.lock"]
    done = subprocess.run(command, cwd=ROOT, stderr=subprocess.PIPE, text=True)
    offline = re.search("could not connect|ConnectionError", done.stderr, flags=re.I)
    said = done.stderr.splitlines()[-1] + "\n" if offline else done.stderr
    if offline:
        said += "The data base of known vulnerabilities cannot be reached from here: nothing was looked up\n"
    sys.stderr.write(said)
    sys.exit(4 if offline else done.returncode)
