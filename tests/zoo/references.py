# references.py - the expressions of tests/zoo/networks.csv
#
# SPDX-License-Identifier: GPL-2.0-or-later
"""Reference implementations of networks, as modules with random weights."""

import importlib

import torch

PACKAGES = ("torch", "torchvision", "timm", "transformers", "diffusers", "monai",
            "pytorchvideo", "torch_geometric", "effdet")


def hub(name, config, **more):
    """A network of transformers by its configuration's class and values."""
    package = importlib.import_module("transformers")
    made = getattr(package, config)(**more)
    made.use_cache = False
    return getattr(package, name)(made)


def stem(network, channels):
    """The network with another number of channels in its first convolution."""
    for module in list(network.modules()):
        for name, child in module.named_children():
            if isinstance(child, torch.nn.modules.conv._ConvNd):
                if channels != child.in_channels:
                    setattr(module, name, type(child)(
                        channels, child.out_channels, child.kernel_size, child.stride,
                        child.padding, child.dilation, child.groups,
                        child.bias is not None))
                return network
    return network


class OneList(torch.nn.Module):
    """A module that takes its inputs as one list."""

    def __init__(self, network):
        super().__init__()
        self.network = network

    def forward(self, *given):
        return self.network(list(given))


class Needed(dict):
    """The names of an expression: functions of this file, and packages."""

    def __missing__(self, name):
        if name == "pytorchvideo":
            importlib.import_module("pytorchvideo.models.hub")
        if name in PACKAGES:
            return importlib.import_module(name)
        raise KeyError(name)


def made(expression):
    """What an expression of the table makes."""
    return eval(expression, Needed(globals()))  # of our own table
