"""Writes the archives that the tests of package pt2 read, and what PyTorch computes.

    python fixtures.py DIRECTORY

For each module: NAME.pt2.gz as torch.export gives it, NAME.core.pt2.gz after
run_decompositions, and NAME.npz with the inputs (in_NAME) and the results (out_0 …).
gpt and cnn are also written as ONNX, with their weights in the .npz files (w_NAME).
"""

import gzip
import io
import sys
import warnings
from pathlib import Path

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.export import Dim
from torch.export.graph_signature import ConstantArgument


class MLP(nn.Module):
    """A batch of any length, a buffer of each kind and a constant."""

    def __init__(self):
        super().__init__()
        self.up = nn.Linear(4, 8)
        self.norm = nn.LayerNorm(8)
        self.down = nn.Linear(8, 4, bias=False)
        self.register_buffer("scale", torch.rand(4))
        self.register_buffer("shift", torch.arange(4).float(), persistent=False)
        self.constant = torch.tensor([2.0, 3.0])

    def forward(self, x, twice: int = 2):
        y = self.down(self.norm(F.gelu(self.up(x)))) * self.scale + self.shift * twice
        left, right = y.chunk(2, dim=-1)
        y = torch.cat([right, left * self.constant], -1)
        return {"y": y.view(x.shape[0], 2, 2), "n": x.shape[0]}


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1 = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.proj = nn.Linear(width, width)
        self.norm2 = nn.LayerNorm(width)
        self.up = nn.Linear(width, 2 * width)
        self.down = nn.Linear(2 * width, width)

    def forward(self, x):
        b, t, w = x.shape
        q, k, v = self.qkv(self.norm1(x)).split(w, dim=-1)
        q, k, v = (u.view(b, t, self.heads, w // self.heads).transpose(1, 2) for u in (q, k, v))
        a = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.proj(a.transpose(1, 2).reshape(b, t, w))
        return x + self.down(F.gelu(self.up(self.norm2(x)), approximate="tanh"))


class GPT(nn.Module):
    """Two blocks between an embedding and a head that share one weight."""

    def __init__(self, vocabulary=16, width=8, heads=2, tokens=6):
        super().__init__()
        self.embed = nn.Embedding(vocabulary, width)
        self.place = nn.Embedding(tokens, width)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(2))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, vocabulary, bias=False)
        self.head.weight = self.embed.weight

    def forward(self, ids):
        x = self.embed(ids) + self.place(torch.arange(ids.shape[1], device=ids.device))
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


class CNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 4, 3, stride=2, padding=1, bias=False)
        self.norm1 = nn.BatchNorm2d(4)
        self.conv2 = nn.Conv2d(4, 8, 3, padding=1, groups=2)
        self.norm2 = nn.BatchNorm2d(8)
        self.pool = nn.MaxPool2d(2)
        self.head = nn.Linear(8, 5)
        for m in (self.norm1, self.norm2):
            nn.init.uniform_(m.weight, 0.5, 1.5)
            nn.init.normal_(m.bias)
            m.running_mean.normal_()
            m.running_var.uniform_(0.5, 2)

    def forward(self, x):
        x = self.pool(F.relu(self.norm1(self.conv1(x))))
        x = F.relu(self.norm2(self.conv2(x)))
        return self.head(F.adaptive_avg_pool2d(x, 1).flatten(1))


class Views(nn.Module):
    """Parameters that are views of one storage, and sizes that are computed."""

    def __init__(self):
        super().__init__()
        whole = torch.randn(4, 6)
        self.part = nn.Parameter(whole[1:3, 1:4])
        self.turned = nn.Parameter(whole.t())
        self.repeated = nn.Parameter(torch.randn(3, 1).expand(3, 4))
        self.register_buffer("bytes", torch.tensor([1, 2, 255], dtype=torch.uint8))
        self.register_buffer("halves", torch.tensor([0.5, 1.5], dtype=torch.float16))
        self.register_buffer("nothing", torch.zeros(0, 3))

    def forward(self, x, y):
        t = x.shape[1]
        return (
            x.reshape(x.shape[0] * t),
            torch.cat([x, y], 1)[:, : t - t // 3],
            y[:, ::2] * self.part[:, :1].sum(),
            self.turned @ self.part.new_ones(4, 2),
            self.repeated + self.bytes.float()[:, None],
            self.halves.to(torch.float32),
            x.new_zeros(t, 2),
        )


class Sizes(nn.Module):
    """An even number of rows, a number as an input, one out of a tensor, and no_grad."""

    def forward(self, x, n: int, limit):
        with torch.no_grad():
            y = x * 2
        k = limit.item()
        torch._check(k >= 1)
        torch._check(k <= 4)
        return y.reshape(2, -1).sum(1), x.new_ones(n + 1) * 3, x.narrow(1, 0, k).sum(), torch.max(x[: x.shape[0] // 2], x[x.shape[0] // 2 :])


class Changes(nn.Module):
    """Operators that change their operand, which nothing reads afterwards."""

    def forward(self, x):
        y = F.relu(x * 2, inplace=True)
        y += 1
        z = x.clone()
        z[:, 0].mul_(3)
        w = F.hardtanh(x @ x.t(), inplace=True).flatten()
        return y.clamp_(max=2), w.add_(1), x


class Stale(nn.Module):
    """A view is changed, and then the whole is read."""

    def forward(self, x):
        y = x * 2
        y[:, 0] = 0
        return y + 1


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(4, 3, num_layers=2, bidirectional=True, batch_first=True)
        self.gru = nn.GRU(6, 2, bias=False)

    def forward(self, x):
        y, (h, c) = self.lstm(x)
        return y, h, c, *self.gru(y)


def elementwise(x, y, n, m):
    return (
        x + y, x - 2 * y, 3 - x, x * y, x / (y.abs() + 1), n // 3, n % 3, n / 2, x // 0.3, x % 0.7, torch.fmod(x, 0.7), n + 0.5, n * x[:, :1],
        x**2, (x.abs() + 0.1) ** y, torch.clamp(x, -0.5, 0.5), x.clamp_min(0.1), torch.maximum(x, y), torch.minimum(x, y),
        torch.exp(x), torch.log(x.abs() + 1), torch.sqrt(x.abs()), torch.rsqrt(x.abs() + 1), torch.erf(x), torch.sin(x), torch.cos(x), torch.tanh(x),
        torch.floor(x), torch.ceil(x), torch.round(x * 3), torch.trunc(x * 3), torch.sign(x), torch.reciprocal(x.abs() + 1), -x, x.abs(),
        torch.addcmul(x, x, y, value=0.5), torch.where(m, x, y), torch.where(x > 0, x, 0.0), x.masked_fill(m, float("-inf")),
    )


def logic(x, y, n, m):
    return (
        x > y, x >= 0, x < y, x <= 0.5, n == 2, n != 2, ~m, m & (x > 0), m | (x > 0), m ^ (x > 0), torch.logical_and(n, m), torch.logical_not(n),
        torch.isnan(x), torch.isinf(x), n.float(), x.to(torch.int64), x.to(torch.float16).float(), m.int(), torch.full_like(n, 7), torch.full((2, 3), 1.5),
        torch.zeros(2), torch.ones_like(x), torch.arange(5), torch.arange(0, 1, 0.25), torch.linspace(0, 1, 5), torch.eye(3), x.tril(), x.triu(1), m.any(), m.all(1), n + m, x.expand_as(x),
    )


def activations(x, y, n, m):
    return (
        F.relu(x), F.relu6(x * 9), F.silu(x), F.gelu(x), F.gelu(x, approximate="tanh"), F.softplus(x, beta=2), F.leaky_relu(x, 0.2), F.elu(x, 0.7), F.selu(x), F.celu(x, 0.6),
        F.hardsigmoid(x * 4), F.hardswish(x * 4), F.hardtanh(x * 2), F.mish(x), F.logsigmoid(x), torch.sigmoid(x), F.glu(x, 1), F.softmax(x, 0), F.log_softmax(x, -1),
        F.layer_norm(x, (4,)), F.rms_norm(x, (4,), y[0]), F.group_norm(x[None].transpose(1, 2), 2), F.instance_norm(x[None]), F.dropout(x, 0.5, False), F.prelu(x, y[0]),
    )


def shapes(x, y, n, m):
    return (
        x.view(4, 3), x.reshape(-1), x.unsqueeze(1), x[None].squeeze(0), x.permute(1, 0), x.t(), x[:, None].expand(3, 2, 4), x.flatten(), x.unflatten(1, (2, 2)),
        torch.cat([x, y], 1), torch.stack([x, y], -1), *x.split([1, 3], 1), *x.split(3, 1), *x.chunk(2, 1), x.narrow(1, 1, 2), x.select(1, -1), x[1], x[-2:, ::2], x[..., 1:3],
        x.repeat(2, 1, 2), x.roll(1, 1), x.roll(3), x.flip(0), x.repeat_interleave(2, 1), F.pad(x, (1, 2, -1, 0), value=3.0), F.pad(x[None], (1, 2), mode="reflect"), F.pad(x[None], (1, 2), mode="replicate"),
        F.pixel_shuffle(x.reshape(1, 4, 3, 1), 2), F.pixel_unshuffle(x.reshape(1, 1, 2, 6), 2), torch.movedim(x, 0, 1), *x.unbind(1)[:2], x.diagonal(1), torch.broadcast_to(x[:1], (3, 4)),
    )


def reductions(x, y, n, m):
    return (
        x.sum(), x.sum(1), n.sum(0), m.sum(), x.mean(0, keepdim=True), x.mean(), x.amax(1), x.amin((0, 1)), x.max(), x.min(), *x.max(1), *x.min(0, keepdim=True), x.argmax(1), x.argmin(),
        *x.topk(2, 1), *x.sort(1, descending=True), x.argsort(0), x.cumsum(1), n.cumsum(0), x.var(1), x.std(), x.var(0, unbiased=False), torch.logsumexp(x, 1), x.norm(dim=1), x.prod(1),
        F.normalize(x, dim=1),
    )


def indexing(x, y, n, m):
    i = torch.tensor([2, 0])
    w = n % 3
    return (
        F.embedding(w, x), x.index_select(1, i), x.gather(0, w), x.gather(1, w[:, :2]), x[i], x[:, i], x[i, i], x[w], x[i[:, None], i], torch.take_along_dim(x, w, 0),
        x.scatter(0, w, y), x.scatter(1, w[:, :1], 9.0), x.scatter_add(0, w, y), x.index_add(0, i, y[:2]), torch.slice_scatter(x, y[:, :2], 1, 1, 3), torch.select_scatter(x, y[0], 0, 1),
        x.index_put((i,), y[:2]), x.index_put((i, i), y[0, :2], accumulate=True), F.one_hot(w, 5),
    )


def products(x, y, n, m):
    b = torch.stack([x, y])
    q = torch.stack([b, b * 0.5], 1)
    mask = q[:1, :1, :, :3]
    return (
        x @ y.t(), x @ y[0], x[0] @ y.t(), x[0] @ y[0], torch.bmm(b, b.transpose(1, 2)), b @ y.t(), torch.mm(x, y.t()), torch.mv(x, y[0]), torch.addmm(x[:, :3], x, y.t(), beta=0.5, alpha=2),
        torch.baddbmm(b[:, :, :3], b, b.transpose(1, 2)), torch.einsum("bik,bjk->bij", b, b), torch.einsum("ij,ij->", x, y), torch.outer(x[0], y[0]), F.linear(b, y, x[0, :3]),
        F.scaled_dot_product_attention(q, q, q), F.scaled_dot_product_attention(q, q, q, is_causal=True), F.scaled_dot_product_attention(q, q, q, mask, scale=0.3),
        F.scaled_dot_product_attention(b, b, b, mask[0, 0] > 0), F.scaled_dot_product_attention(q, q[:, :1], q[:, :1], enable_gqa=True), torch.matmul(q, y.t()),
    )


def images(x, y, n, m):
    a = torch.cat([x, y, x * y]).reshape(1, 2, 3, 6)
    k = torch.cat([x, y]).reshape(-1)[:18].reshape(1, 2, 3, 3)
    return (
        F.conv2d(a, k, padding=1), F.conv2d(a, k, x[0, :1], stride=(1, 2), padding=(1, 2), dilation=(1, 2)), F.conv2d(a, k, padding="same"), F.conv1d(a[0], k[0], padding=1),
        F.conv2d(a, k.transpose(0, 1), groups=2), F.conv_transpose2d(a, k.transpose(0, 1), stride=2, padding=1, output_padding=1), F.conv3d(a[None], k[None], padding=1),
        F.max_pool2d(a, 2), F.max_pool2d(a, 3, 2, 1, ceil_mode=True), F.max_pool1d(a[0], 2), F.avg_pool2d(a, 2, 1), F.avg_pool2d(a, 3, 2, 1, ceil_mode=True, count_include_pad=False), F.avg_pool2d(a, 2, divisor_override=3),
        F.adaptive_avg_pool2d(a, 1), F.adaptive_avg_pool2d(a, (3, 2)), F.interpolate(a, scale_factor=2), F.interpolate(a, size=(4, 9)), F.interpolate(a, scale_factor=2, mode="bilinear"),
        F.interpolate(a, size=(5, 7), mode="bilinear", align_corners=True), F.batch_norm(a, x[0, :2], y[0, :2].abs(), x[1, :2], y[1, :2]),
    )


def narrow(x, y, n, m):
    b, s = (n * 40).to(torch.uint8), (n * 40).to(torch.int8)
    return b.int(), s.int(), (b + b).long(), (b * 3 - 7).int(), (s * 5).int(), (-s).int(), (n * 9000).short().int(), m.to(torch.uint8).sum(), b.view(4, 3).float(), (b // 7).int(), (s > 3), b.sum()


def others(x, y, n, m):
    z = x.clone().copy_(y[1])
    return (
        torch.addcdiv(x, y, y.abs() + 1, value=2), torch.lerp(x, y, 0.3), n.type_as(x), x.reshape(-1).view_as(y), *x.tensor_split(3, 1), torch.div(x, 0.3, rounding_mode="trunc"), torch.div(n, 3, rounding_mode="floor"), torch.div(n, 3, rounding_mode="trunc"),
        torch.einsum("ii->i", x[:, :3]), torch.einsum("...j,kj", x, y), torch.einsum("ii", x[:, :3]), *torch.var_mean(x, 1), x.norm(), x.numel() * x, torch.linalg.vector_norm(x, 1), z[0] + 1,
        F.conv2d(x[None], y[None, None, :2, :2]), F.max_pool2d(x[None], 2), x.to(torch.float64) + n, x.half().float(), torch.all(m), torch.amax(x), x.expm1(), x.abs().log1p(), x.tan(), x.swapaxes(0, 1),
    )


class Function(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x, y, n, m):
        return self.function(x, y, n, m)


def write(program, path):
    """The archive compressed: its JSON is large and says most things often."""
    archive = io.BytesIO()
    torch.export.save(program, archive)
    Path(path).write_bytes(gzip.compress(archive.getvalue(), mtime=0))


def save(module, args, path, **shapes):
    """Writes both forms and what the module computes."""
    module.eval()
    program = torch.export.export(module, args, **shapes)
    write(program, f"{path}.pt2.gz")
    write(program.run_decompositions(), f"{path}.core.pt2.gz")
    results = torch.utils._pytree.tree_flatten(module(*args))[0]
    given = [spec.arg for spec in program.graph_signature.input_specs if spec.kind.name == "USER_INPUT"]
    arrays = {f"in_{spec.name}": np.asarray(a) for spec, a in zip(given, args) if not isinstance(spec, ConstantArgument)}
    arrays |= {f"out_{i}": torch.as_tensor(r).detach().numpy() for i, r in enumerate(results)}
    return arrays


def explicit_attention(q, k, v, is_causal):
    """Attention by the operators that it is made of, as ONNX files have it."""
    scores = q @ k.transpose(-2, -1) * (1 / np.sqrt(q.shape[-1]))
    visible = torch.ones(q.shape[-2], k.shape[-2], dtype=torch.bool).tril()
    return F.softmax(torch.where(visible, scores, float("-inf")), -1) @ v


def export_onnx(module, args, path, names):
    fused, F.scaled_dot_product_attention = F.scaled_dot_product_attention, explicit_attention
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(module, args, path, input_names=names, opset_version=20, dynamo=False, training=torch.onnx.TrainingMode.PRESERVE)
    F.scaled_dot_product_attention = fused


def main(directory):
    directory.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(7)
    batch = Dim("batch", min=2, max=64)
    rows, columns = Dim.DYNAMIC, Dim.DYNAMIC
    ids = torch.randint(0, 16, (2, 6))
    models = {
        "mlp": (MLP(), (torch.randn(3, 4), 2), dict(dynamic_shapes={"x": {0: batch}, "twice": None})),
        "gpt": (GPT(), (ids,), {}),
        "cnn": (CNN(), (torch.randn(2, 3, 8, 8),), {}),
        "sizes": (Sizes(), (torch.randn(6, 4), 5, torch.tensor(3)), dict(dynamic_shapes={"x": {0: 2 * Dim("half", min=1, max=8)}, "n": Dim.DYNAMIC, "limit": None})),
        "changes": (Changes(), (torch.randn(3, 4),), {}),
        "stale": (Stale(), (torch.randn(3, 4),), {}),
        "recurrent": (Recurrent(), (torch.randn(2, 3, 4),), {}),
        "views": (Views(), (torch.randn(2, 7), torch.randn(2, 14)), dict(dynamic_shapes={"x": {0: rows, 1: columns}, "y": {0: rows, 1: columns}})),
    }
    plain = (torch.randn(3, 4), torch.randn(3, 4), torch.arange(12).reshape(3, 4) - 4, torch.arange(12).reshape(3, 4) % 3 == 0)
    for function in (elementwise, logic, narrow, others, activations, shapes, reductions, indexing, products, images):
        given = (plain[0], plain[1], plain[2].abs() + 1 if function is indexing else plain[2], plain[3])
        models[function.__name__] = (Function(function), given, {})
    for name, (module, args, shapes_) in models.items():
        arrays = save(module, args, directory / name, **shapes_)
        if name in ("gpt", "cnn"):
            arrays |= {f"w_{k}": v.numpy() for k, v in module.state_dict().items() if v.dtype == torch.float32}
            export_onnx(module, args, str(directory / f"{name}.onnx"), ["ids" if name == "gpt" else "x"])
        np.savez_compressed(directory / f"{name}.npz", **arrays)


if __name__ == "__main__":
    warnings.filterwarnings("ignore", module="torch.export.pt2_archive")
    main(Path(sys.argv[1]))
