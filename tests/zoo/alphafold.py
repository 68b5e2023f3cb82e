# alphafold.py - the network of AlphaFold 2 as OpenFold trains it
#
# Algorithms and sizes are those of the supplement of Jumper et al., Nature 596 (2021),
# model 1: a crop of 256 residues, 128 sequences of which 4 are templates, and 1024 extra
# sequences. Triangles, attention with gates and the structure module are the classes that
# transformers has of OpenFold for ESMFold, whose sizes are the same.
#
# SPDX-License-Identifier: GPL-2.0-or-later
"""AlphaFold 2 as a module: features in, the outputs of its heads and structure out."""

import torch
from torch import nn
from transformers.models.esm import modeling_esmfold as esm
from transformers.models.esm.configuration_esm import StructureModuleConfig

TEMPLATES = 4

esm.is_fp16_enabled = lambda device_type: False  # it has no answer for meta tensors


class Pairs:
    """The one size that triangles are made from."""

    def __init__(self, size):
        self.pairwise_state_dim = size


def transition(size, factor):
    return nn.Sequential(nn.LayerNorm(size), nn.Linear(size, factor * size), nn.ReLU(),
                         nn.Linear(factor * size, size))


class PairStack(nn.Module):
    """Updates of the pairs: algorithms 11 to 15."""

    def __init__(self, size, head, factor):
        super().__init__()
        triangle, attention = esm.EsmFoldTriangleMultiplicativeUpdate, esm.EsmFoldTriangleAttention
        self.out, self.inside = triangle(Pairs(size), True), triangle(Pairs(size), False)
        self.start, self.end = attention(size, head, 4, True), attention(size, head, 4, False)
        self.transition = transition(size, factor)
        self.rows = esm.EsmFoldDropout(0.25, 1)
        self.columns = esm.EsmFoldDropout(0.25, 2)

    def forward(self, z):
        z = z + self.rows(self.out(z))
        z = z + self.rows(self.inside(z))
        z = z + self.rows(self.start(z))
        z = z + self.columns(self.end(z))
        return z + self.transition(z)


class RowAttention(nn.Module):
    """Algorithm 7: of the residues of a sequence, with a bias of the pairs."""

    def __init__(self, size, pair, head):
        super().__init__()
        self.norm, self.norm_z = nn.LayerNorm(size), nn.LayerNorm(pair)
        self.bias = nn.Linear(pair, 8, bias=False)
        self.attention = esm.EsmFoldAttention(size, size, size, head, 8)

    def forward(self, m, z):
        bias = self.bias(self.norm_z(z)).permute(0, 3, 1, 2).unsqueeze(1)
        m = self.norm(m)
        mask = 1e9 * (m.new_ones(m.shape[:-1]) - 1)[:, :, None, None]
        return self.attention(m, m, [mask, bias])


class ColumnAttention(nn.Module):
    """Algorithm 8: of the sequences at a residue."""

    def __init__(self, size):
        super().__init__()
        self.norm = nn.LayerNorm(size)
        self.attention = esm.EsmFoldAttention(size, size, size, 32, 8)

    def forward(self, m):
        m = self.norm(m.transpose(1, 2))
        mask = 1e9 * (m.new_ones(m.shape[:-1]) - 1)[:, :, None, None]
        return self.attention(m, m, [mask]).transpose(1, 2)


class GlobalColumnAttention(nn.Module):
    """Algorithm 19: with the mean of the queries, and one head of keys and values."""

    def __init__(self, size, head):
        super().__init__()
        self.norm = nn.LayerNorm(size)
        self.query = nn.Linear(size, 8 * head, bias=False)
        self.key, self.value = (nn.Linear(size, head, bias=False) for _ in range(2))
        self.gate, self.out = nn.Linear(size, 8 * head), nn.Linear(8 * head, size)
        self.head = head

    def forward(self, m):
        m = self.norm(m.transpose(1, 2))
        q = self.query(m.mean(2)).unflatten(-1, (8, self.head)) * self.head ** -0.5
        weights = torch.softmax(q @ self.key(m).transpose(-1, -2), -1)
        mean = (weights @ self.value(m)).unsqueeze(2)
        gate = self.gate(m).sigmoid().unflatten(-1, (8, self.head))
        return self.out((gate * mean).flatten(-2)).transpose(1, 2)


class OuterProduct(nn.Module):
    """Algorithm 10."""

    def __init__(self, size, pair):
        super().__init__()
        self.norm = nn.LayerNorm(size)
        self.a, self.b = nn.Linear(size, 32), nn.Linear(size, 32)
        self.out = nn.Linear(1024, pair)

    def forward(self, m):
        m = self.norm(m)
        outer = self.a(m).flatten(2).transpose(1, 2) @ self.b(m).flatten(2)
        outer = outer.unflatten(1, (-1, 32)).unflatten(3, (-1, 32)).transpose(2, 3)
        return self.out(outer.flatten(-2)) / m.shape[1]


class Block(nn.Module):
    """A block of the Evoformer, or of the extra sequences: algorithms 6 and 18."""

    def __init__(self, size, extra):
        super().__init__()
        self.row = RowAttention(size, 128, 8 if extra else 32)
        self.column = GlobalColumnAttention(size, 8) if extra else ColumnAttention(size)
        self.transition = transition(size, 4)
        self.outer = OuterProduct(size, 128)
        self.pairs = PairStack(128, 32, 4)
        self.dropout = esm.EsmFoldDropout(0.15, 1)

    def forward(self, m, z):
        m = m + self.dropout(self.row(m, z))
        m = m + self.column(m)
        m = m + self.transition(m)
        return m, self.pairs(z + self.outer(m))


class Templates(nn.Module):
    """Algorithms 16 and 17."""

    def __init__(self):
        super().__init__()
        self.pair = nn.Linear(88, 64)
        self.blocks = nn.ModuleList(PairStack(64, 16, 2) for _ in range(2))
        self.norm = nn.LayerNorm(64)
        self.attention = esm.EsmFoldAttention(128, 64, 64, 16, 4, gating=False)
        self.angles = nn.Sequential(nn.Linear(57, 256), nn.ReLU(), nn.Linear(256, 256))

    def forward(self, pairs, angles, z):
        t = self.pair(pairs).flatten(0, 1)
        for block in self.blocks:
            t = block(t)
        t = self.norm(t).unflatten(0, pairs.shape[:2]).permute(0, 2, 3, 1, 4)
        mask = 1e9 * (t.new_ones(t.shape[:-1]) - 1)[:, :, :, None, None]
        z = z + self.attention(z.unsqueeze(3), t, [mask]).squeeze(3)
        return self.angles(angles), z


def distance(frames, points):
    """Algorithm 28: how far points are from their places, seen from each frame; the real
    places are as many again."""
    turned = frames[..., :3, :3].transpose(-1, -2).unsqueeze(-3)
    apart = points.unsqueeze(-3) - frames[..., :3, 3].unsqueeze(-2)
    local = (turned @ apart.unsqueeze(-1)).squeeze(-1)
    error = (local - local.detach().flip(0)).square().sum(-1) + 1e-4
    return error.sqrt().clamp(max=10)


class AlphaFold(nn.Module):
    """Algorithm 2, one pass of it."""

    def __init__(self, layers):
        super().__init__()
        self.target_m, self.msa = nn.Linear(22, 256), nn.Linear(49, 256)
        self.target_i, self.target_j = nn.Linear(22, 128), nn.Linear(22, 128)
        self.position, self.recycled = nn.Linear(65, 128), nn.Linear(15, 128)
        self.norm_m, self.norm_z = nn.LayerNorm(256), nn.LayerNorm(128)
        self.templates = Templates()
        self.extra = nn.Linear(25, 64)
        self.extra_blocks = nn.ModuleList(Block(64, True) for _ in range(4))
        self.blocks = nn.ModuleList(Block(256, False) for _ in range(layers))
        self.single = nn.Linear(256, 384)
        self.structure = esm.EsmFoldStructureModule(StructureModuleConfig())
        self.distances, self.masked = nn.Linear(128, 64), nn.Linear(256, 23)
        self.resolved = nn.Linear(384, 37)
        self.lddt = nn.Sequential(nn.LayerNorm(384), nn.Linear(384, 128), nn.ReLU(),
                                  nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 50))

    def forward(self, target, types, msa, extra, pairs, angles, positions, bins, old_m, old_z):
        m = self.msa(msa) + self.target_m(target).unsqueeze(1)
        z = self.target_i(target).unsqueeze(2) + self.target_j(target).unsqueeze(1)
        z = z + self.position(positions) + self.recycled(bins) + self.norm_z(old_z)
        first = m[:, :1] + self.norm_m(old_m).unsqueeze(1)
        m = torch.cat([first, m[:, 1:]], 1)
        rows, z = self.templates(pairs, angles, z)
        m = torch.cat([m, rows], 1)
        e = self.extra(extra)
        for block in self.extra_blocks:
            e, z = block(e, z)
        for block in self.blocks:
            m, z = block(m, z)
        single = self.single(m[:, 0])
        shape = self.structure({"single": single, "pair": z}, types)
        frames = shape["sidechain_frames"]
        backbone = frames[:, :, :, 0]
        return (self.distances(z + z.transpose(1, 2)), self.masked(m[:, :-TEMPLATES]),
                self.resolved(single), self.lddt(shape["single"]), shape["angles"],
                distance(backbone, backbone[..., :3, 3]),
                distance(frames[-1].flatten(1, 2), shape["positions"][-1].flatten(1, 2)))
