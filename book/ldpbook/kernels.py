"""Start the kernel of a page as a copy of a process that has already imported what most pages import.

A kernel of its own process pays about two seconds of imports before the first line of its page. The processes that execute pages are
copies of one prepared process (the `forkserver` of `ldpbook.execute`), and so are the kernels that they start.
"""

import atexit
import json
import os
import signal
import sys
import traceback
import weakref
from multiprocessing import process
from typing import Any, NoReturn

PREPARED = ("ipykernel.kernelapp", "myst_nb", "ldpbook.claims", "ldpbook.paper_audits", "ldpbook.paper_values", "ldpbook.plots",
            "ldpbook.stored", "ldpbook.warm", "ldpkit.auditors", "ldpkit.mechanisms", "papermill", "scipy.stats")  # fmt: skip
"""Modules that the prepared process imports."""


class Kernel:
    """A child of this process that waits for the command of a kernel and then becomes that kernel.

    It has the methods of `subprocess.Popen` that `jupyter_client` calls. It has to be made before this process has sockets or loops.
    """

    stdin = stdout = stderr = None

    def __init__(self) -> None:
        told, self._told = os.pipe()
        self.returncode: int | None = None
        self.pid = os.fork()
        if self.pid == 0:
            os.close(self._told)
            _become(told)
        os.close(told)

    def launch(self, command: list[str], *, env: dict[str, str], cwd: str | None = None, **_: Any) -> "Kernel":
        """Become the kernel of a command ``python -m ipykernel_launcher ...`` and return this object."""
        parent = {"JPY_PARENT_PID": str(os.getpid())}
        with open(self._told, "w") as pipe:
            json.dump(
                {"arguments": command[command.index("ipykernel_launcher") + 1 :], "env": env | parent, "cwd": cwd or os.getcwd()},
                pipe,
            )
        return self

    def poll(self) -> int | None:
        """Return the exit status, or None while the kernel runs."""
        if self.returncode is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            self.returncode = os.waitstatus_to_exitcode(status) if pid else None
        return self.returncode

    def wait(self) -> int:
        """Wait for the end of the kernel and return its exit status."""
        if self.returncode is None:
            self.returncode = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Send a signal to a kernel that runs."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        """Ask the kernel to end."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """End the kernel."""
        self.send_signal(signal.SIGKILL)


def _become(told: int) -> NoReturn:
    """Wait for a command, run its kernel, and end this process."""
    status = 1
    os.setsid()
    weakref.finalize._registry.clear()  # type: ignore[attr-defined]  # folders of the copied process are not removed by its copy
    try:
        with open(told) as pipe:
            text = pipe.read()
        if text:  # nothing was told if the parent has ended
            task = json.loads(text)
            os.chdir(task["cwd"])
            # where processes that the page starts look for the modules beside it
            setattr(process, "ORIGINAL_DIR", task["cwd"])  # noqa: B010
            os.environ.clear()
            os.environ.update(task["env"])
            sys.argv = ["ipykernel_launcher", *task["arguments"]]
            signal.signal(signal.SIGINT, signal.default_int_handler)
            import matplotlib
            from ipykernel import kernelapp

            # other kernels name it in their environment before they import matplotlib
            matplotlib.rcParams["backend"] = "module://matplotlib_inline.backend_inline"
            kernelapp.launch_new_instance()
            atexit._run_exitfuncs()
            status = 0
    except Exception:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def prepare() -> None:
    """Fork a kernel now, which becomes the next kernel that `jupyter_client` launches in this process."""
    from jupyter_client.provisioning import local_provisioner

    setattr(local_provisioner, "launch_kernel", Kernel().launch)  # noqa: B010
