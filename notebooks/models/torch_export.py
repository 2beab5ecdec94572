"""A PyTorch module, compiled by forge, with equal results.

usage: torch_export.py FORGE     (the binary; "make peers" installs PyTorch)
"""

import subprocess
import sys

import numpy as np
import torch


class Block(torch.nn.Module):
    def __init__(self, width=64):
        super().__init__()
        self.norm = torch.nn.LayerNorm(width)
        self.up, self.down = torch.nn.Linear(width, 4 * width), torch.nn.Linear(4 * width, width)

    def forward(self, x):
        return x + self.down(torch.nn.functional.gelu(self.up(self.norm(x))))


torch.manual_seed(0)
module, x = Block().eval(), torch.randn(8, 64)
batch = torch.export.Dim("batch", min=1, max=128)
program = torch.export.export(module, (x,), dynamic_shapes=({0: batch},))
torch.export.save(program, "block.pt2")
np.savez("in.npz", x=x.numpy())
subprocess.run([sys.argv[1], "run", "block.pt2", "--inputs", "in.npz", "--outputs", "out.npz"], check=True)
(y,) = np.load("out.npz").values()
np.testing.assert_allclose(y, module(x).detach().numpy(), rtol=1e-5, atol=1e-6)
print("equal:", y.shape)
