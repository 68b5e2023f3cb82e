# references.py - the expressions of tests/zoo/networks.csv
#
# SPDX-License-Identifier: GPL-2.0-or-later
"""Reference implementations of networks, as modules with random weights."""

import importlib

import torch

PACKAGES = ("torch", "torchvision", "timm", "transformers", "diffusers", "monai",
            "pytorchvideo", "torch_geometric", "effdet", "pytorchcv")


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


def cifar(network, first, *dropped):
    """The network as kuangliu/pytorch-cifar trains it on small images: its first convolution
    is 3x3 and has no stride, and modules between it and the blocks are missing."""
    conv = network.get_submodule(first)
    network.set_submodule(first, torch.nn.Conv2d(
        conv.in_channels, conv.out_channels, 3, padding=1, bias=conv.bias is not None))
    for name in dropped:
        put(network, name, torch.nn.Identity())
    return network


def put(network, name, module):
    """The network with another module in this place."""
    network.set_submodule(name, module)
    return network


def resenc(dims, classes, blocks):
    """The residual encoders of nnU-Net's planners (ResEnc M, L and XL): features 32 to
    320, 512 in 2d, one convolution in each stage of the decoder."""
    module = importlib.import_module("dynamic_network_architectures.architectures.unet")
    conv = getattr(torch.nn, "Conv%dd" % dims)
    most = 320 if dims == 3 else 512
    return module.ResidualEncoderUNet(
        1, len(blocks), [min(32 * 2 ** i, most) for i in range(len(blocks))], conv, 3,
        [1] + [2] * (len(blocks) - 1), blocks, classes, [1] * (len(blocks) - 1), True,
        getattr(torch.nn, "InstanceNorm%dd" % dims), {"eps": 1e-5, "affine": True}, None,
        None, torch.nn.LeakyReLU, {"inplace": True}, deep_supervision=True)


def yolo(kind, name):
    """A network of ultralytics, which computes its strides on the CPU, as it trains."""
    module = importlib.import_module("ultralytics.nn.tasks")
    with torch.device("cpu"):
        made = getattr(module, kind + "Model")(name + ".yaml", verbose=False)
    return made.train().to("meta")


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
        if name == "pytorchcv":
            importlib.import_module("pytorchcv.model_provider")
        if name in PACKAGES:
            return importlib.import_module(name)
        raise KeyError(name)


def made(expression):
    """What an expression of the table makes."""
    return eval(expression, Needed(globals()))  # of our own table
