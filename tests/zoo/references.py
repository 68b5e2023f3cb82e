# references.py - the expressions of tests/zoo/networks.csv
#
# SPDX-License-Identifier: GPL-2.0-or-later
"""Reference implementations of networks, as modules with random weights."""

import importlib
import os

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


def yolo(kind, name, classes):
    """A network of ultralytics, which computes its strides on the CPU, as it trains."""
    module = importlib.import_module("ultralytics.nn.tasks")
    with torch.device("cpu"):
        made = getattr(module, kind + "Model")(name + ".yaml", nc=classes, verbose=False)
    return made.train().to("meta")


def yolov5(kind, name, classes):
    """A network of YOLOv5's own repository: that which classifies is the first part of
    that which detects."""
    module = importlib.import_module("yolov5.models.yolo")
    file = "segment/%s-seg" % name if kind == "Segmentation" else name
    with torch.device("cpu"):
        made = module.DetectionModel if kind == "Classification" else \
            getattr(module, kind + "Model")
        made = made(os.path.join(os.path.dirname(module.__file__), file + ".yaml"),
                    nc=None if kind == "Classification" else classes)
        if kind == "Classification":
            made = module.ClassificationModel(model=made, nc=classes)
    return made.train().to("meta")


class Separable(torch.nn.Sequential):
    """A convolution of each channel, and one of all channels at a point."""

    def __init__(self, inside, out, stride=1, dilation=1):
        super().__init__(
            torch.nn.Conv2d(inside, inside, 3, stride, dilation, dilation, inside, False),
            torch.nn.Conv2d(inside, out, 1, bias=False))


def normed(conv, channels, *more):
    """Modules of a convolution with its normalisation."""
    return [conv, torch.nn.BatchNorm2d(channels), *more]


class Residue(torch.nn.Module):
    """A block of DeepCAM's Xception: 'widths' of its convolutions, and a last one that is
    not normalised, if it has a stride or 'last'."""

    def __init__(self, inside, widths, stride=1, last=False, relu=True):
        super().__init__()
        layers, out = [], widths[-1]
        for old, new in zip([inside] + widths, widths):
            layers += normed(Separable(old, new), new, torch.nn.ReLU(True))
        layers.pop()
        if stride > 1 or last:
            layers.append(Separable(out, out, stride))
        self.layers = torch.nn.Sequential(*layers)
        self.skip = torch.nn.Sequential(
            *normed(torch.nn.Conv2d(inside, out, 1, stride, bias=False), out)) \
            if out != inside else torch.nn.Identity()
        self.relu = torch.nn.ReLU(True) if relu else torch.nn.Identity()

    def forward(self, x):
        out = self.layers(x)
        out += self.skip(x)
        return self.relu(out)


class Affine(torch.nn.Module):
    """A factor and a term for each channel."""

    def __init__(self, channels):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(channels, 1, 1))
        self.bias = torch.nn.Parameter(torch.zeros(channels, 1, 1))

    def forward(self, x):
        return self.weight * x + self.bias


class DeepCAM(torch.nn.Module):
    """DeepLabv3+ with Xception for climate data, as mlcommons/hpc trains it
    (deepcam/src/deepCam/architecture/deeplab_xception.py), output stride 16."""

    def __init__(self, channels, classes):
        super().__init__()
        nn = torch.nn

        def conv(inside, out, kernel=3, dilation=1, stride=1):
            return normed(nn.Conv2d(inside, out, kernel, stride, dilation * (kernel // 2),
                                    dilation, bias=False), out, nn.ReLU(True))

        def wider(out):
            return nn.ConvTranspose2d(256, out, 3, 2, 1, 1, bias=False)

        self.first = nn.Sequential(*conv(channels, 32, stride=2), *conv(32, 64),
                                   Residue(64, [128, 128], 2, relu=False))
        self.body = nn.Sequential(
            nn.ReLU(True), Residue(128, [256, 256], 2), Residue(256, [728, 728], 2),
            *(Residue(728, [728] * 3) for _ in range(16)),
            Residue(728, [728, 1024], last=True, relu=False),
            *normed(Separable(1024, 1536, dilation=2), 1536, nn.ReLU(True)),
            *normed(Separable(1536, 1536, dilation=2), 1536, nn.ReLU(True)),
            *normed(Separable(1536, 2048, dilation=2), 2048, nn.ReLU(True)))
        self.pyramid = nn.ModuleList(
            nn.Sequential(*conv(2048, 256, 3 if rate > 1 else 1, rate))
            for rate in (1, 6, 12, 18))
        self.mean = nn.Sequential(nn.AdaptiveAvgPool2d(1),
                                  nn.Conv2d(2048, 256, 1, bias=False), Affine(256), nn.ReLU())
        self.joined = nn.Sequential(*conv(1280, 256, 1))
        self.low = nn.Sequential(*conv(128, 48, 1))
        self.up = nn.Sequential(*normed(wider(256), 256, nn.ReLU(True)),
                                *normed(wider(256), 256, nn.ReLU(True)))
        self.last = nn.Sequential(
            *conv(304, 256), *conv(256, 256), nn.Conv2d(256, 256, 1),
            *normed(wider(256), 256, nn.ReLU(True)), wider(classes))

    def forward(self, x):
        low = self.first(x)
        x = self.body(low)
        mean = self.mean(x).tile(1, 1, *x.shape[2:])
        x = self.joined(torch.cat([part(x) for part in self.pyramid] + [mean], 1))
        return self.last(torch.cat([self.up(x), self.low(low)], 1))


def alphafold(layers):
    """AlphaFold 2, one pass of it."""
    return importlib.import_module("alphafold").AlphaFold(layers)


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
