# sitecustomize.py - sees the trainings of programs that know nothing of it
#
# Python imports a module of this name at its start, from the first directory of
# PYTHONPATH that has one. Slurm, or 'dnnest describe', puts this file's directory first;
# the next sitecustomize is loaded after it.
#
# In a job with DNNEST_PROGRESS_DIR dnnest.py describes the training from the import of
# torch, tensorflow, keras or jax on. DNNEST_CAPTURE=no prevents it.
#
# The hook must never break the program: errors are ignored, and then nothing is described.
# Needs Python 3.6 and torch 1.13 or later.
#
# SPDX-License-Identifier: GPL-2.0-or-later


def _load_next():
    """Load the sitecustomize that would have been loaded without this one."""
    import importlib.machinery
    import importlib.util
    import os
    import sys

    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [x for x in sys.path if os.path.abspath(x or ".") != here]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", sys.path)
    if spec is None or spec.loader is None:
        return
    module = importlib.util.module_from_spec(spec)
    sys.modules["sitecustomize"] = module
    spec.loader.exec_module(module)


def _hook():
    import os
    import sys

    # dnnest.py and its parts are in the directory above.
    sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    # PYTHONPATH is inherited by jobs that a job submits; DNNEST_JOB_CAPTURE is not.
    if all(os.environ.get(name) for name in
           ("SLURM_JOB_ID", "DNNEST_JOB_CAPTURE", "DNNEST_PROGRESS_DIR")):
        _capture()


def _capture():
    """Describe the training once the program has a framework for one."""
    import dnnest_watch

    def start(_module):
        import dnnest
        dnnest.start()
    dnnest_watch.when_imported(
        dict.fromkeys(("torch", "tensorflow", "keras", "jax"), start))


try:
    _hook()
except Exception:
    pass
_load_next()
del _hook, _capture, _load_next
