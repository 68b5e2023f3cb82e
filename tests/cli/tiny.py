"""A small convolutional network on the CPU, for the tests of 'dnnest describe'.

usage: tiny.py STEPS [BATCH]
"""
# SPDX-License-Identifier: GPL-2.0-or-later
import sys

import torch
from torch import nn

torch.manual_seed(0)
torch.set_num_threads(1)
steps = int(sys.argv[1])
batch = int(sys.argv[2]) if len(sys.argv) > 2 else 32
net = nn.Sequential(nn.Conv2d(3, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
                    nn.Conv2d(32, 32, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(1),
                    nn.Flatten(), nn.Linear(32, 10))
sgd = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
data = torch.utils.data.TensorDataset(torch.randn(1024, 3, 32, 32),
                                      torch.randint(0, 10, (1024,)))
loader = torch.utils.data.DataLoader(data, batch_size=batch, shuffle=True, drop_last=True)
done = 0
while done < steps:
    for x, y in loader:
        sgd.zero_grad()
        loss = nn.functional.cross_entropy(net(x), y)
        loss.backward()
        sgd.step()
        done += 1
        if done == steps:
            break
print("steps", done)
