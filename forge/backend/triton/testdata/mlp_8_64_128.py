"""Triton kernels of the graph mlp_8_64_128, compiled with enable_fp_fusion=False.

Run the entries of LAUNCHES in order, each with the constants that all its candidates
have and those of one candidate.
"""

import triton
import triton.language as tl
from triton.language.extra import libdevice

# The operations that are more than one of Triton's. They repeat those of package mathf
# step by step, so that results are equal to the interpreter's to the last bit. A fused
# multiply-add stands where it has one and nowhere else: kernels are compiled with
# enable_fp_fusion=False.


@triton.jit
def bits_of(x):
    return x.to(tl.int32, bitcast=True)


@triton.jit
def float_of(bits):
    return bits.to(tl.float32, bitcast=True)


@triton.jit
def power_of_two(k):
    return float_of((k + 127) << 23)


@triton.jit
def scale(p, n):
    """p times 2 to the n, rounded once: the first of two products is exact."""
    k = n.to(tl.int32)
    half = k >> 1
    return (p * power_of_two(half)) * power_of_two(k - half)


@triton.jit
def exp_part(x):
    """p and n with exp(x) = p * 2**n."""
    n = libdevice.rint(x * 1.442695)
    r = tl.fma(n, -0.6931472, x)
    r = tl.fma(n, 1.9046542e-09, r)
    q = tl.fma(r, 0.0013770742, 0.008371741)
    q = tl.fma(q, r, 0.041668735)
    q = tl.fma(q, r, 0.16666493)
    q = tl.fma(q, r, 0.49999994)
    return 1 + tl.fma(q, r * r, r), n


@triton.jit
def exp(x):
    """Beyond the bounds exp overflows and vanishes, as it does at them."""
    x = tl.where(x > 89.5, 89.5, x)
    p, n = exp_part(tl.where(x < -105, -105.0, x))
    return scale(p, n)


@triton.jit
def exp_down(x):
    """exp of minus the size of x."""
    x = float_of(bits_of(x) | -0x80000000)
    p, n = exp_part(tl.where(x < -105, -105.0, x))
    return scale(p, n)


@triton.jit
def sigmoid(x):
    z = exp_down(x)
    return tl.div_rn(tl.where(x < 0, z, 1.0), 1 + z)


@triton.jit
def gelu_tanh(x):
    """Far out the sigmoid is 0 or 1, so that the limits come by themselves, but that -inf * 0 is no number."""
    v = x * tl.fma(x * x, 0.071354814, 1.5957692)
    return tl.where(x < -1.7014118e+38, -1.7014118e+38, x) * sigmoid(v)


@triton.jit
def linear_act(
    act_ptr, x_ptr, up_w_ptr, up_b_ptr,
    M: tl.constexpr,
    N: tl.constexpr,
    K: tl.constexpr,
    stride_xm: tl.constexpr,
    stride_xk: tl.constexpr,
    stride_up_wk: tl.constexpr,
    stride_up_wn: tl.constexpr,
    stride_actm: tl.constexpr,
    stride_actn: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    GROUP_M: tl.constexpr,
):
    """%act: f32[8,128] = linear %x, %up_w, %up_b {act = "gelu_tanh"}"""
    # Tiles of GROUP_M rows of tiles follow one another, so that what they read of up_w stays in the cache.
    tiles_m = tl.cdiv(M, BLOCK_M)
    tiles_n = tl.cdiv(N, BLOCK_N)
    tile = tl.program_id(0)
    first_m = tile // (GROUP_M * tiles_n) * GROUP_M
    group_m = min(tiles_m - first_m, GROUP_M)
    tile_m = first_m + tile % (GROUP_M * tiles_n) % group_m
    tile_n = tile % (GROUP_M * tiles_n) // group_m
    m = tile_m * BLOCK_M + tl.arange(0, BLOCK_M)[:, None]
    n = tile_n * BLOCK_N + tl.arange(0, BLOCK_N)[None, :]
    in_m = m < M
    in_n = n < N
    up_b = tl.load(up_b_ptr + n, mask=in_n, other=0.0)
    acc = tl.zeros((BLOCK_M, BLOCK_N), tl.float32) + up_b
    k = tl.arange(0, BLOCK_K)
    x_at = x_ptr + m * stride_xm + k[None, :] * stride_xk
    up_w_at = up_w_ptr + k[:, None] * stride_up_wk + n * stride_up_wn
    for start in range(0, K, BLOCK_K):
        if K % BLOCK_K == 0:
            x_tile = tl.load(x_at, mask=in_m, other=0.0)
            up_w_tile = tl.load(up_w_at, mask=in_n, other=0.0)
        else:
            x_tile = tl.load(x_at, mask=in_m & (start + k < K)[None, :], other=0.0)
            up_w_tile = tl.load(up_w_at, mask=(start + k < K)[:, None] & in_n, other=0.0)
        acc = tl.dot(x_tile, up_w_tile, acc, input_precision="ieee")
        x_at += BLOCK_K * stride_xk
        up_w_at += BLOCK_K * stride_up_wk
    act_at = act_ptr + m * stride_actm + n * stride_actn
    tl.store(act_at, gelu_tanh(acc), mask=in_m & in_n)


@triton.jit
def linear_down(
    down_ptr, act_ptr, down_w_ptr, down_b_ptr,
    M: tl.constexpr,
    N: tl.constexpr,
    K: tl.constexpr,
    stride_actm: tl.constexpr,
    stride_actk: tl.constexpr,
    stride_down_wk: tl.constexpr,
    stride_down_wn: tl.constexpr,
    stride_downm: tl.constexpr,
    stride_downn: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    GROUP_M: tl.constexpr,
):
    """%down: f32[8,32] = linear %act, %down_w, %down_b"""
    # Tiles of GROUP_M rows of tiles follow one another, so that what they read of down_w stays in the cache.
    tiles_m = tl.cdiv(M, BLOCK_M)
    tiles_n = tl.cdiv(N, BLOCK_N)
    tile = tl.program_id(0)
    first_m = tile // (GROUP_M * tiles_n) * GROUP_M
    group_m = min(tiles_m - first_m, GROUP_M)
    tile_m = first_m + tile % (GROUP_M * tiles_n) % group_m
    tile_n = tile % (GROUP_M * tiles_n) // group_m
    m = tile_m * BLOCK_M + tl.arange(0, BLOCK_M)[:, None]
    n = tile_n * BLOCK_N + tl.arange(0, BLOCK_N)[None, :]
    in_m = m < M
    in_n = n < N
    down_b = tl.load(down_b_ptr + n, mask=in_n, other=0.0)
    acc = tl.zeros((BLOCK_M, BLOCK_N), tl.float32) + down_b
    k = tl.arange(0, BLOCK_K)
    act_at = act_ptr + m * stride_actm + k[None, :] * stride_actk
    down_w_at = down_w_ptr + k[:, None] * stride_down_wk + n * stride_down_wn
    for start in range(0, K, BLOCK_K):
        if K % BLOCK_K == 0:
            act_tile = tl.load(act_at, mask=in_m, other=0.0)
            down_w_tile = tl.load(down_w_at, mask=in_n, other=0.0)
        else:
            act_tile = tl.load(act_at, mask=in_m & (start + k < K)[None, :], other=0.0)
            down_w_tile = tl.load(down_w_at, mask=(start + k < K)[:, None] & in_n, other=0.0)
        acc = tl.dot(act_tile, down_w_tile, acc, input_precision="ieee")
        act_at += BLOCK_K * stride_actk
        down_w_at += BLOCK_K * stride_down_wk
    down_at = down_ptr + m * stride_downm + n * stride_downn
    tl.store(down_at, acc, mask=in_m & in_n)


LAUNCHES = [
    dict(
        value="%act",
        kernel=linear_act,
        arguments=["%act: f32[8,128]", "%x: f32[8,64]", "%up_w: f32[64,128]", "%up_b: f32[128]"],
        constants=dict(M=8, N=128, K=64, stride_xm=64, stride_xk=1, stride_up_wk=128, stride_up_wn=1, stride_actm=128, stride_actn=1),
        candidates=[
            dict(grid=(4, 1, 1), constants=dict(BLOCK_M=16, BLOCK_N=32, BLOCK_K=32, GROUP_M=8), num_warps=2, num_stages=4),
            dict(grid=(4, 1, 1), constants=dict(BLOCK_M=16, BLOCK_N=32, BLOCK_K=64, GROUP_M=8), num_warps=2, num_stages=3),
            dict(grid=(2, 1, 1), constants=dict(BLOCK_M=16, BLOCK_N=64, BLOCK_K=16, GROUP_M=8), num_warps=4, num_stages=4),
            dict(grid=(2, 1, 1), constants=dict(BLOCK_M=16, BLOCK_N=64, BLOCK_K=32, GROUP_M=8), num_warps=4, num_stages=3),
            dict(grid=(2, 1, 1), constants=dict(BLOCK_M=16, BLOCK_N=64, BLOCK_K=64, GROUP_M=8), num_warps=4, num_stages=3),
            dict(grid=(1, 1, 1), constants=dict(BLOCK_M=16, BLOCK_N=128, BLOCK_K=16, GROUP_M=8), num_warps=8, num_stages=3),
            dict(grid=(1, 1, 1), constants=dict(BLOCK_M=16, BLOCK_N=128, BLOCK_K=32, GROUP_M=8), num_warps=8, num_stages=3),
            dict(grid=(1, 1, 1), constants=dict(BLOCK_M=16, BLOCK_N=128, BLOCK_K=16, GROUP_M=8), num_warps=4, num_stages=4),
        ],
    ),
    dict(
        value="%down",
        kernel=linear_down,
        arguments=["%down: f32[8,32]", "%act: f32[8,128]", "%down_w: f32[128,32]", "%down_b: f32[32]"],
        constants=dict(M=8, N=32, K=128, stride_actm=128, stride_actk=1, stride_down_wk=32, stride_down_wn=1, stride_downm=32, stride_downn=1),
        candidates=[
            dict(grid=(1, 1, 1), constants=dict(BLOCK_M=16, BLOCK_N=32, BLOCK_K=16, GROUP_M=8), num_warps=2, num_stages=3),
            dict(grid=(1, 1, 1), constants=dict(BLOCK_M=16, BLOCK_N=32, BLOCK_K=16, GROUP_M=8), num_warps=2, num_stages=4),
            dict(grid=(1, 1, 1), constants=dict(BLOCK_M=16, BLOCK_N=32, BLOCK_K=32, GROUP_M=8), num_warps=2, num_stages=3),
            dict(grid=(1, 1, 1), constants=dict(BLOCK_M=16, BLOCK_N=32, BLOCK_K=32, GROUP_M=8), num_warps=2, num_stages=4),
            dict(grid=(1, 1, 1), constants=dict(BLOCK_M=16, BLOCK_N=32, BLOCK_K=64, GROUP_M=8), num_warps=2, num_stages=3),
        ],
    ),
]
