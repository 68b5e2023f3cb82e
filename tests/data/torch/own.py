# own.py - small networks for the tests of cli/dnnest_export.py
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
