# dnnest_watch.py - sees the steps of a training that knows nothing of it
#
# An observer, such as that of dnnest_capture.py, is told when an optimizer of PyTorch has
# made a step, what a DataLoader gave and took, and of steps of Keras and JAX. For that a few
# functions of these packages are wrapped when they are imported. Programs must not notice: an
# error here is ignored, and then no step is seen.
#
# Needs Python 3.6 and nothing else; torch 1.13 or later.
#
# SPDX-License-Identifier: GPL-2.0-or-later
"""See the steps of a training."""

import functools
import importlib.abc
import importlib.util
import sys
import threading
import time
import types
import weakref


class Observer:
    """What is told, in the thread of the program."""

    def step(self, owner):
        """A step of an optimizer of PyTorch, a model of Keras or a function of JAX has
        been launched. Returns whether the program is to end."""

    def waited(self, iterator, seconds, batch):
        """An iterator of a DataLoader gave a batch, or None at its end."""

    def training(self, kind, *objects):
        """A trainer begins: "transformers" with its arguments and state, "lightning" with
        its Trainer, "keras" with the model and {"epochs", "steps", "data"}: data has the
        samples of a batch and the shape of a batch, as far as known."""


_observers = []
_local = threading.local()


def quietly(function, *args):
    """Call it; None if it fails."""
    try:
        return function(*args)
    except Exception:
        return None


def _tell(name, *args):
    """Tell all observers. End the program if one of them says so."""
    if any([quietly(getattr(observer, name), *args) for observer in _observers]):
        raise SystemExit(0)


# Imports.


class _Loader(importlib.abc.Loader):
    """A module's own loader, with a function called after it."""

    def __init__(self, loader, name, after):
        self.loader = loader
        self.name = name
        self.after = after

    def create_module(self, spec):
        return self.loader.create_module(spec)

    def exec_module(self, module):
        self.loader.exec_module(module)
        module.__loader__ = module.__spec__.loader = self.loader
        after = self.after.pop(self.name, None)
        if after:
            quietly(after, module)

    def __getattr__(self, name):
        return getattr(self.loader, name)


class _Finder(importlib.abc.MetaPathFinder):
    """Not only imports ask it: programs look whether there is a module."""

    def __init__(self, after):
        self.after = after
        self.finding = threading.local()

    def find_spec(self, name, path=None, target=None):
        names = self.finding.__dict__.setdefault("names", set())
        if name not in self.after or name in names:
            return None
        names.add(name)
        try:
            spec = importlib.util.find_spec(name)  # by the other finders
        finally:
            names.discard(name)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader, name, self.after)
        return spec


def when_imported(after):
    """When a module is imported, call after[its name](module); at once if it is loaded
    already."""
    after = dict(after)
    for name in [name for name in after if name in sys.modules]:
        quietly(after.pop(name), sys.modules[name])
    if after:
        sys.meta_path.insert(0, _Finder(after))


def _wrap(place, name, wrapper):
    """Replace the attribute 'name' of a class or module by wrapper(the old one), once."""
    old = place.__dict__.get(name)
    if callable(old) and not getattr(old, "_dnnest", False):
        new = wrapper(old)
        if not isinstance(new, _Jitted):
            new = functools.wraps(old)(new)
        new._dnnest = True
        setattr(place, name, new)


# PyTorch.


def _never(*_):
    return False


def _step_of(step):
    """A step of an optimizer that tells of itself. It may call that of its base class. A
    compiler, which reads it, sees the plain step. Where it cannot compile that, it goes on
    with what is called next, which is not for it."""
    torch = sys.modules.get("torch")
    compiling = getattr(getattr(torch, "compiler", None), "is_compiling", _never)
    dynamo = getattr(getattr(torch, "_C", None), "_dynamo", None)
    set_compiler = getattr(getattr(dynamo, "eval_frame", None), "set_eval_frame", _never)

    def wrapper(self, *args, **kwargs):
        if compiling():
            return step(self, *args, **kwargs)
        depth = getattr(_local, "depth", 0)
        _local.depth = depth + 1
        try:
            result = step(self, *args, **kwargs)
        finally:
            _local.depth = depth
        if depth == 0:
            compiler = set_compiler(None)
            try:
                _tell("step", self)
            finally:
                set_compiler(compiler)
        return result
    return wrapper


def _optimizers(module):
    def init_of(init):
        def wrapper(self, *args, **kwargs):
            init(self, *args, **kwargs)
            for kind in type(self).__mro__:
                quietly(_wrap, kind, "step", _step_of)
        return wrapper
    _wrap(module.Optimizer, "__init__", init_of)
    for kind in module.Optimizer.__subclasses__():  # some may have been made already
        if kind.__module__.startswith("torch.optim."):
            quietly(_wrap, kind, "step", _step_of)


def _loaders(module):
    def next_of(following):
        def wrapper(self):
            begin = time.monotonic()
            try:
                batch = following(self)
            except StopIteration:
                _tell("waited", self, time.monotonic() - begin, None)
                raise
            _tell("waited", self, time.monotonic() - begin, batch)
            return batch
        return wrapper
    base = module._BaseDataLoaderIter
    _wrap(base, "__next__", next_of)
    if "next" in base.__dict__:
        base.next = base.__next__


# Trainers.


def _transformers(module):
    def begin_of(begin):
        def wrapper(self, args, state, control, *more, **named):
            _tell("training", "transformers", args, state)
            return begin(self, args, state, control, *more, **named)
        return wrapper
    _wrap(module.CallbackHandler, "on_train_begin", begin_of)


def _lightning(module):
    def fit_of(fit):
        def wrapper(self, *args, **kwargs):
            _tell("training", "lightning", self)
            return fit(self, *args, **kwargs)
        return wrapper
    _wrap(module.Trainer, "fit", fit_of)


def _keras_lists(module):
    def init_of(init):
        def wrapper(self, *args, **kwargs):
            if kwargs.get("epochs") and kwargs.get("add_history"):  # fit ()
                _tell("training", "keras", kwargs.get("model"), {
                    "epochs": kwargs["epochs"], "steps": kwargs.get("steps"),
                    "data": getattr(_local, "data", None)})
            return init(self, *args, **kwargs)
        return wrapper
    _wrap(module.CallbackList, "__init__", init_of)


def _keras_models(module):
    def make_of(make):
        def wrapper(self, *args, **kwargs):
            result = make(self, *args, **kwargs)
            train = self.train_function
            if train is not None and not hasattr(train, "_dnnest"):
                def counted(*args, **kwargs):
                    result = train(*args, **kwargs)
                    _tell("step", self)
                    return result
                counted._dnnest = True
                self.train_function = counted
            return result if result is None else self.train_function
        return wrapper

    def fit_of(fit):
        def wrapper(self, x=None, y=None, batch_size=None, *args, **kwargs):
            _local.data = quietly(_keras_data, x, batch_size)
            return fit(self, x, y, batch_size, *args, **kwargs)
        return wrapper
    for name, wrapper in (("make_train_function", make_of), ("fit", fit_of)):
        for kind in module.Model.__mro__:
            if name in kind.__dict__:
                _wrap(kind, name, wrapper)
                break


def _keras_data(x, batch):
    """Samples of a batch, and its shape, of an argument of fit ()."""
    spec = getattr(x, "element_spec", None)  # a data set of TensorFlow
    first = spec[0] if isinstance(spec, tuple) else spec if spec is not None else x
    shape = list(getattr(first, "shape", ()))
    if spec is not None:
        return shape[0] if shape else None, shape
    if shape:
        batch = batch or 32
        return batch, [batch] + shape[1:]
    return batch or getattr(x, "batch_size", None), None


# JAX.


def _anchor(value):
    """A weak reference that stands for a value of JAX: to what is first in a container, which
    has none. Its id() would not do: what a helper returned is gone when it is called again,
    and its argument may be where that was."""
    if isinstance(value, (dict, tuple, list)):
        values = value.values() if isinstance(value, dict) else value
        return next(filter(None, map(_anchor, values)), None)
    return quietly(weakref.ref, value)


def _anchors(values):
    return list(filter(None, (quietly(_anchor, value) for value in values)))


class _Jitted:
    """A compiled function that tells of its calls if they are steps: what one returns, the
    next gets."""

    def __init__(self, function):
        functools.update_wrapper(self, function)
        self._function = function
        self._returned = []

    def __call__(self, *args, **kwargs):
        alive = {id(anchor()) for anchor in self._returned if anchor() is not None}
        is_step = bool(alive) and any(id(anchor()) in alive for anchor in _anchors(args))
        result = self._function(*args, **kwargs)
        self._returned = _anchors(result if type(result) in (tuple, list) else (result,))
        if is_step:
            _tell("step", self)
        return result

    def __get__(self, owner, kind=None):
        return self if owner is None else types.MethodType(self, owner)

    def __getattr__(self, name):
        return getattr(self.__dict__["_function"], name)


def _jax(module):
    def jit_of(jit):
        def wrapper(*args, **kwargs):
            made = jit(*args, **kwargs)
            if args or "fun" in kwargs:
                return quietly(_Jitted, made) or made
            return lambda function: quietly(_Jitted, made(function)) or made(function)
        return wrapper
    for name in ("jit", "pmap"):
        _wrap(module, name, jit_of)


_PATCHES = {
    "torch.optim.optimizer": _optimizers,
    "torch.utils.data.dataloader": _loaders,
    "transformers.trainer_callback": _transformers,
    "lightning.pytorch.trainer.trainer": _lightning,
    "pytorch_lightning.trainer.trainer": _lightning,
    "keras.callbacks": _keras_lists,
    "keras.src.callbacks": _keras_lists,
    "tf_keras.src.callbacks": _keras_lists,
    "keras.engine.training": _keras_models,
    "keras.src.engine.training": _keras_models,
    "tf_keras.src.engine.training": _keras_models,
    "keras.src.models.model": _keras_models,
    "jax": _jax,
}


def watch(observer):
    """Tell the observer of all steps from now on."""
    _observers.append(observer)
    if len(_observers) == 1:
        when_imported(_PATCHES)
