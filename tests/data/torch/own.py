# own.py - small networks for the tests of python/dnnest_export.py
#
# SPDX-License-Identifier: GPL-2.0-or-later
import torch
from torch import nn


class LSTM(nn.Module):
    """As lstm_lm of the zoo."""

    def __init__(self):
        super().__init__()
        self.encoder = nn.Embedding(33278, 200)
        self.drop = nn.Dropout(0.2)
        self.rnn = nn.LSTM(200, 200, 2, dropout=0.2, batch_first=True)
        self.decoder = nn.Linear(200, 33278)

    def forward(self, x):
        x = self.drop(self.encoder(x))
        return self.decoder(self.drop(self.rnn(x)[0]))


class Transformer(nn.Module):
    def __init__(self, hidden=256, heads=4, layers=6, vocab=1000):
        super().__init__()
        layer = nn.TransformerEncoderLayer(hidden, heads, 4 * hidden, batch_first=True)
        self.embedding = nn.Embedding(vocab, hidden)
        self.encoder = nn.TransformerEncoder(layer, layers)
        self.head = nn.Linear(hidden, vocab, bias=False)
        self.head.weight = self.embedding.weight

    def forward(self, x):
        return self.head(self.encoder(self.embedding(x)))


class Odd(nn.Module):
    """Frozen, unused and shared parameters, and an operator that few know."""

    def __init__(self):
        super().__init__()
        self.frozen = nn.Linear(8, 8)
        self.frozen.requires_grad_(False)
        self.unused = nn.Linear(8, 3)
        self.twice = nn.Linear(8, 8)
        self.norm = nn.BatchNorm1d(8)

    def forward(self, x):
        x = self.norm(self.twice(self.twice(self.frozen(x))))
        return torch.linalg.qr(x.unsqueeze(-1))[0]


class Fickle(nn.Module):
    """Another path for another batch."""

    def forward(self, x):
        return x if x.size(0) == 2 else torch.relu(x)


class Chooser(nn.Module):
    """Another path for other values: how often a layer runs, or torch.cond."""

    def __init__(self, cond=False):
        super().__init__()
        self.layer = nn.Linear(8, 8)
        self.cond = cond

    def forward(self, x):
        if self.cond:
            return torch.cond(x.sum() > 0, self.layer, torch.relu, (x,))
        for _ in range(int((x + 1).sum().item()) // 8 % 3):
            x = self.layer(x)
        return x


class Chain(nn.Module):
    """Equal linear layers of which only the last ones, or the first, learn."""

    def __init__(self, size=4096, layers=16, learn_last=1, learn_first=0):
        super().__init__()
        self.layers = nn.ModuleList(
            nn.Linear(size, size, bias=False) for _ in range(layers))
        for layer in self.layers[learn_first:layers - learn_last]:
            layer.requires_grad_(False)

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


class Adapted(nn.Module):
    """A frozen linear layer with a low-rank adapter beside it, as in LoRA."""

    def __init__(self, base, rank=8):
        super().__init__()
        self.base = base.requires_grad_(False)
        self.down = nn.Linear(base.in_features, rank, bias=False)
        self.up = nn.Linear(rank, base.out_features, bias=False)

    def forward(self, x):
        return self.base(x) + 2 * self.up(self.down(x))


class Block(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.norm = nn.LayerNorm(hidden)
        self.query = nn.Linear(hidden, hidden)
        self.value = nn.Linear(hidden, hidden)
        self.inner = nn.Linear(hidden, 4 * hidden)
        self.outer = nn.Linear(4 * hidden, hidden)

    def forward(self, x):
        y = self.norm(x)
        x = x + self.query(y) * torch.sigmoid(self.value(y))
        return x + self.outer(nn.functional.gelu(self.inner(x)))


def lora(hidden=64, layers=4, vocab=500, rank=8, half=False):
    """A frozen network with adapters in every block, and a tied head."""
    body = nn.Sequential(nn.Embedding(vocab, hidden),
                         *(Block(hidden) for _ in range(layers)),
                         nn.Linear(hidden, vocab, bias=False))
    body[-1].weight = body[0].weight
    body.requires_grad_(False)
    if half:
        body.to(torch.bfloat16)
    for block in body[1:-1]:
        block.query = Adapted(block.query, rank)
        block.value = Adapted(block.value, rank)
        if half:
            block.to(torch.bfloat16)
    return body


class Quantised(nn.Module):
    """A linear layer whose weights are stored in 8 bits, and one that learns."""

    def __init__(self, size=2048, buffer=False):
        super().__init__()
        weight = torch.zeros(size, size, dtype=torch.int8)
        if buffer:
            self.register_buffer("weight", weight)
        else:
            self.weight = nn.Parameter(weight, requires_grad=False)
        self.scale = nn.Parameter(torch.ones(size, 1), requires_grad=False)
        self.norm = nn.BatchNorm1d(size)
        self.head = nn.Linear(size, 10)

    def forward(self, x):
        x = nn.functional.linear(x, self.weight.to(x.dtype) * self.scale)
        return self.head(torch.relu(self.norm(x)))


def backbone(size=32):
    """A frozen convolutional backbone that runs without gradient, and a head."""
    body = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(),
                         nn.Conv2d(8, 8, 3), nn.ReLU(), nn.Flatten())
    body.requires_grad_(False)
    return nn.Sequential(body, nn.Linear(8 * (size - 4) ** 2, 10))


class Root(nn.Module):
    """Normalisation by the root mean square."""

    def __init__(self, size):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))

    def forward(self, x):
        return self.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6))


class LlamaBlock(nn.Module):
    def __init__(self, hidden, heads, inner):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = Root(hidden), Root(hidden)
        for name in ("query", "key", "value", "out"):
            setattr(self, name, nn.Linear(hidden, hidden, bias=False))
        self.gate = nn.Linear(hidden, inner, bias=False)
        self.up = nn.Linear(hidden, inner, bias=False)
        self.down = nn.Linear(inner, hidden, bias=False)

    def forward(self, x):
        y = self.norm1(x)
        q, k, v = (layer(y).unflatten(-1, (self.heads, -1)).transpose(1, 2)
                   for layer in (self.query, self.key, self.value))
        y = torch.softmax(q @ k.transpose(-2, -1) / q.size(-1) ** 0.5, -1) @ v
        x = x + self.out(y.transpose(1, 2).flatten(-2))
        y = self.norm2(x)
        return x + self.down(nn.functional.silu(self.gate(y)) * self.up(y))


def llama(hidden=64, heads=4, inner=172, layers=3, vocab=500, rank=8):
    """A frozen network in 16 bits with adapters of query and value: LoRA."""
    torch.set_default_dtype(torch.bfloat16)
    net = nn.Sequential(nn.Embedding(vocab, hidden),
                        *(LlamaBlock(hidden, heads, inner) for _ in range(layers)),
                        Root(hidden), nn.Linear(hidden, vocab, bias=False))
    net.requires_grad_(False)
    for block in net[1:-2]:
        block.query = Adapted(block.query, rank)
        block.value = Adapted(block.value, rank)
    torch.set_default_dtype(torch.float32)
    return net


class Huge(nn.Sequential):
    """64 layers of 16 GiB."""

    def __init__(self, size=65536, layers=64):
        super().__init__(*(nn.Linear(size, size, bias=False) for _ in range(layers)))


class Value(nn.Module):
    """Reads a value of its input, which a meta tensor does not have."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(8, 8)

    def forward(self, x):
        return self.layer(x) * (1 + x[0, 0].item())
