"""Start the kernel of a page as a copy of a process that has already imported what most pages import.

A kernel of its own process pays about two seconds of imports before the first line of its page. The processes that execute pages are
copies of one process, and so are the kernels that they start. It is the `forkserver` of `ldpbook.execute`, after it has imported this
module. Therefore the import does once what each copy would have to do. It makes the imports of most pages, and reads which file
imports which, for the digests of stored cells (`ldpbook.stored`). The garbage collector of the copies passes over all objects that
exist by then.
"""

import atexit
import gc
import json
import os
import signal
import subprocess
import sys
import threading
import traceback
import weakref
from multiprocessing import process
from typing import Any, NoReturn

import ipykernel.kernelapp  # noqa: F401
import myst_nb  # noqa: F401
import papermill  # noqa: F401
import scipy.stats  # noqa: F401

import ldpkit.mechanisms  # noqa: F401

from . import claims, paper_audits, paper_values, plots, stored  # noqa: F401


class Kernel(subprocess.Popen[bytes]):
    """A child of this process that waits for the command of a kernel and then becomes that kernel.

    It is waited for and signalled like any process that Python starts. It has to be made before this process has sockets or loops.
    """

    stdin = stdout = stderr = None

    def __init__(self) -> None:  # a fork in the place of the program that the base class would start
        told, self._told = os.pipe()
        self.returncode = None  # as the base class sets it
        self._waitpid_lock = threading.Lock()
        led, leads = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.setsid()
            for end in (self._told, led, leads):
                os.close(end)
            _become(told)
        self._child_created = True
        os.close(told)
        os.close(leads)
        os.read(led, 1)  # ends when the child leads a group; before, a signal to its group would reach this process, too
        os.close(led)

    def launch(self, command: list[str], *, env: dict[str, str], cwd: str | None = None, **_: Any) -> "Kernel":
        """Become the kernel of a command ``python -m ipykernel_launcher ...`` and return this object."""
        arguments = command[command.index("ipykernel_launcher") + 1 :]
        task = {"arguments": arguments, "env": env | {"JPY_PARENT_PID": str(os.getpid())}, "cwd": cwd or os.getcwd()}
        with open(self._told, "w") as pipe:
            json.dump(task, pipe)
        return self


def _become(told: int) -> NoReturn:
    """Wait for a command, run its kernel, and end this process."""
    status = 1
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
            # it often waits for a thread that waits for another one, until the kernel is killed after 2.5 seconds
            atexit.unregister(kernelapp.IPKernelApp.instance().close)
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


stored.PACKAGE.files("import ldpkit, ldpbook")
stored.identity(paper_audits.ldp_auditor)
gc.freeze()
