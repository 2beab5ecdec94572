"""Triton kernels of the graph forms, compiled with enable_fp_fusion=False.

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
def minus_zero():
    """Triton takes the number -0.0 for 0."""
    return float_of(tl.full((), -0x80000000, tl.int32))


@triton.jit
def fault(fault_ptr, step, wrong):
    """Says which step found an error, the first of all."""
    tl.atomic_min(fault_ptr + tl.zeros_like(wrong).to(tl.int32), step, mask=wrong)


@triton.jit
def maximum(a, b):
    """NaN wins, and 0 is larger than -0."""
    equal = float_of(bits_of(a) & bits_of(b))
    return tl.where((a > b) | (a != a), a, tl.where(a == b, equal, b))


@triton.jit
def minimum_int(a, b):
    return tl.where(a < b, a, b)


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
def silu(x):
    p, n = exp_part(x)
    small = scale(x * p, n)
    z = exp_down(x)
    y = tl.div_rn(tl.where(x < 0, x * z, x), 1 + z)
    y = tl.where(x < -17, small, y)
    y = tl.where(x < -110, minus_zero(), y)
    return tl.where(x != x, x, y)


@triton.jit
def softmax_v0(
    v0_ptr, x_ptr,
    ROWS: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """%0: f32[64,100] = softmax %x {axis = 1}"""
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    rows = row < 64
    column = tl.arange(0, BLOCK)[None, :]
    columns = column < 100
    x = tl.load(x_ptr + row * 100 + column, mask=rows & columns, other=0.0)
    max_0 = tl.reduce(tl.where(columns, x, float("-inf")), 1, maximum, keep_dims=True)
    v0 = exp(x - max_0)
    sum_1 = tl.sum(tl.where(columns, v0, 0.0), axis=1, keep_dims=True)
    tl.store(v0_ptr + row * 100 + column, tl.div_rn(v0, sum_1), mask=rows & columns)


@triton.jit
def softmax_v1(
    v1_ptr, long_ptr,
    ROWS: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """%1: f16[3,40000] = softmax %long {axis = 1}"""
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    rows = row < 3
    max_0 = tl.full((ROWS, BLOCK), float("-inf"), tl.float32)
    for start in range(0, 40000, BLOCK):
        column = start + tl.arange(0, BLOCK)[None, :]
        columns = column < 40000
        long = tl.load(long_ptr + row * 40000 + column, mask=rows & columns, other=0.0).to(tl.float32)
        max_0 = maximum(max_0, tl.where(columns, long, float("-inf")))
    max_0 = tl.reduce(max_0, 1, maximum, keep_dims=True)
    sum_1 = tl.full((ROWS, BLOCK), 0.0, tl.float32)
    for start in range(0, 40000, BLOCK):
        column = start + tl.arange(0, BLOCK)[None, :]
        columns = column < 40000
        long_1 = tl.load(long_ptr + row * 40000 + column, mask=rows & columns, other=0.0).to(tl.float32)
        sub_ = long_1 - max_0
        exp_ = exp(sub_)
        sum_1 += tl.where(columns, exp_, 0.0)
    sum_1 = tl.sum(sum_1, axis=1, keep_dims=True)
    for start in range(0, 40000, BLOCK):
        column = start + tl.arange(0, BLOCK)[None, :]
        columns = column < 40000
        long_2 = tl.load(long_ptr + row * 40000 + column, mask=rows & columns, other=0.0).to(tl.float32)
        sub__1 = long_2 - max_0
        exp__1 = exp(sub__1)
        tl.store(v1_ptr + row * 40000 + column, tl.div_rn(exp__1, sum_1).to(tl.float16), mask=rows & columns)


@triton.jit
def sum_v2(
    v2_ptr, tall_ptr,
    ROWS: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """%2: f32[80] = sum %tall {axes = [0]}"""
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    rows = row < 80
    sum_0 = tl.full((ROWS, BLOCK), 0.0, tl.float32)
    for start in range(0, 500, BLOCK):
        column = start + tl.arange(0, BLOCK)[None, :]
        columns = column < 500
        tall = tl.load(tall_ptr + row + column * 80, mask=rows & columns, other=0.0)
        sum_0 += tl.where(columns, tall, 0.0)
    sum_0 = tl.sum(sum_0, axis=1, keep_dims=True)
    tl.store(v2_ptr + row, sum_0, mask=rows)


@triton.jit
def gather_v3(
    v3_ptr, x_ptr, ids_ptr, fault_ptr, step,
    BLOCK: tl.constexpr,
):
    """%3: f32[7,100] = gather %x, %ids"""
    offset = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offset < 700
    i0 = offset // 100
    i1 = offset % 100
    ids = tl.load(ids_ptr + i0, mask=inside, other=0)
    fault(fault_ptr, step, inside & ((ids < 0) | (ids >= 64)))
    exists = inside & (ids >= 0) & (ids < 64)
    x = tl.load(x_ptr + i1 + ids * 100, mask=exists, other=0.0)
    tl.store(v3_ptr + offset, x, mask=inside)


@triton.jit
def pad_v4(
    v4_ptr, x_ptr,
    BLOCK: tl.constexpr,
):
    """%4: f32[66,103] = pad %x {high = [1, 2], low = [1, 1], value = 0.5}"""
    offset = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offset < 6798
    i0 = offset // 103
    i1 = offset % 103
    exists = inside & ((i0 - 1) >= 0) & ((i0 - 1) < 64) & ((i1 - 1) >= 0) & ((i1 - 1) < 100)
    x = tl.where(exists, tl.load(x_ptr + i0 * 100 + i1 - 101, mask=exists, other=0.0), 0.5)
    tl.store(v4_ptr + offset, x, mask=inside)


@triton.jit
def matmul_v5(
    v5_ptr, a_ptr, b_ptr,
    M: tl.constexpr,
    N: tl.constexpr,
    K: tl.constexpr,
    stride_am: tl.constexpr,
    stride_ak: tl.constexpr,
    stride_bk: tl.constexpr,
    stride_bn: tl.constexpr,
    stride_v5m: tl.constexpr,
    stride_v5n: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    GROUP_M: tl.constexpr,
):
    """%5: bf16[2,3,40,24] = matmul %a, %b {act = "silu"}"""
    # Tiles of GROUP_M rows of tiles follow one another, so that what they read of b stays in the cache.
    tiles_m = tl.cdiv(M, BLOCK_M)
    tiles_n = tl.cdiv(N, BLOCK_N)
    tile = tl.program_id(0) % (tiles_m * tiles_n)
    batch = tl.program_id(0) // (tiles_m * tiles_n)
    first_m = tile // (GROUP_M * tiles_n) * GROUP_M
    group_m = min(tiles_m - first_m, GROUP_M)
    tile_m = first_m + tile % (GROUP_M * tiles_n) % group_m
    tile_n = tile % (GROUP_M * tiles_n) // group_m
    m = tile_m * BLOCK_M + tl.arange(0, BLOCK_M)[:, None]
    n = tile_n * BLOCK_N + tl.arange(0, BLOCK_N)[None, :]
    in_m = m < M
    in_n = n < N
    acc = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    k = tl.arange(0, BLOCK_K)
    a_at = a_ptr + batch * 2560 + m * stride_am + k[None, :] * stride_ak
    b_at = b_ptr + batch * 1536 + k[:, None] * stride_bk + n * stride_bn
    for start in range(0, K, BLOCK_K):
        if K % BLOCK_K == 0:
            a_tile = tl.load(a_at, mask=in_m, other=0.0)
            b_tile = tl.load(b_at, mask=in_n, other=0.0)
        else:
            a_tile = tl.load(a_at, mask=in_m & (start + k < K)[None, :], other=0.0)
            b_tile = tl.load(b_at, mask=(start + k < K)[:, None] & in_n, other=0.0)
        acc = tl.dot(a_tile, b_tile, acc)
        a_at += BLOCK_K * stride_ak
        b_at += BLOCK_K * stride_bk
    v5_at = v5_ptr + batch * 960 + m * stride_v5m + n * stride_v5n
    tl.store(v5_at, silu(acc).to(tl.bfloat16), mask=in_m & in_n)


@triton.jit
def argmax_v6(
    v6_ptr, x_ptr,
    ROWS: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """%6: i64[64] = argmax %x {axis = 1}"""
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    rows = row < 64
    column = tl.arange(0, BLOCK)[None, :]
    columns = column < 100
    x = tl.load(x_ptr + row * 100 + column, mask=rows & columns, other=0.0)
    max_0 = tl.reduce(tl.where(columns, x, float("-inf")), 1, maximum, keep_dims=True)
    where_ = tl.where((x == max_0) | (x != x), column, tl.full((), 2147483647, tl.int32))
    min_1 = tl.reduce(tl.where(columns, where_, 2147483647), 1, minimum_int, keep_dims=True)
    tl.store(v6_ptr + row, min_1.to(tl.int64), mask=rows)


@triton.jit
def maximum_v7(
    v7_ptr, x_ptr, v0_ptr,
    BLOCK: tl.constexpr,
):
    """%7: f32[64,100] = maximum %x, %0"""
    offset = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offset < 6400
    x = tl.load(x_ptr + offset, mask=inside, other=0.0)
    v0 = tl.load(v0_ptr + offset, mask=inside, other=0.0)
    tl.store(v7_ptr + offset, maximum(x, v0), mask=inside)


@triton.jit
def pad_v8(
    v8_ptr, one_ptr,
    BLOCK: tl.constexpr,
):
    """%8: f32[3,9] = pad %one {high = [1, 4], low = [1, 4], value = 1.0}"""
    offset = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offset < 27
    i0 = offset // 9
    i1 = offset % 9
    exists = inside & ((i0 - 1) >= 0) & ((i0 - 1) < 1) & ((i1 - 4) >= 0) & ((i1 - 4) < 1)
    one = tl.where(exists, tl.load(one_ptr + 0 * offset, mask=exists, other=0.0), 1.0)
    tl.store(v8_ptr + offset, one, mask=inside)


LAUNCHES = [
    dict(
        value="%0",
        kernel=softmax_v0,
        arguments=["%0: f32[64,100]", "%x: f32[64,100]"],
        constants=dict(),
        candidates=[
            dict(grid=(8, 1, 1), constants=dict(ROWS=8, BLOCK=128), num_warps=2, num_stages=1),
            dict(grid=(4, 1, 1), constants=dict(ROWS=16, BLOCK=128), num_warps=4, num_stages=1),
            dict(grid=(2, 1, 1), constants=dict(ROWS=32, BLOCK=128), num_warps=8, num_stages=1),
            dict(grid=(16, 1, 1), constants=dict(ROWS=4, BLOCK=128), num_warps=1, num_stages=1),
        ],
    ),
    dict(
        value="%1",
        kernel=softmax_v1,
        arguments=["%1: f16[3,40000]", "%long: f16[3,40000]"],
        constants=dict(),
        candidates=[
            dict(grid=(3, 1, 1), constants=dict(ROWS=1, BLOCK=4096), num_warps=8, num_stages=1),
            dict(grid=(3, 1, 1), constants=dict(ROWS=1, BLOCK=2048), num_warps=4, num_stages=1),
            dict(grid=(3, 1, 1), constants=dict(ROWS=1, BLOCK=8192), num_warps=16, num_stages=1),
            dict(grid=(3, 1, 1), constants=dict(ROWS=1, BLOCK=1024), num_warps=4, num_stages=1),
        ],
    ),
    dict(
        value="%2",
        kernel=sum_v2,
        arguments=["%2: f32[80]", "%tall: f32[500,80]"],
        constants=dict(),
        candidates=[
            dict(grid=(2, 1, 1), constants=dict(ROWS=64, BLOCK=32), num_warps=4, num_stages=1),
            dict(grid=(3, 1, 1), constants=dict(ROWS=32, BLOCK=64), num_warps=4, num_stages=1),
            dict(grid=(1, 1, 1), constants=dict(ROWS=128, BLOCK=16), num_warps=4, num_stages=1),
            dict(grid=(2, 1, 1), constants=dict(ROWS=64, BLOCK=64), num_warps=8, num_stages=1),
        ],
    ),
    dict(
        value="%3",
        kernel=gather_v3,
        arguments=["%3: f32[7,100]", "%x: f32[64,100]", "%ids: i64[7]"],
        faults=True,  # the address of the word of faults and the number of the step follow
        constants=dict(),
        candidates=[
            dict(grid=(1, 1, 1), constants=dict(BLOCK=1024), num_warps=4, num_stages=1),
            dict(grid=(2, 1, 1), constants=dict(BLOCK=512), num_warps=4, num_stages=1),
            dict(grid=(1, 1, 1), constants=dict(BLOCK=2048), num_warps=8, num_stages=1),
            dict(grid=(3, 1, 1), constants=dict(BLOCK=256), num_warps=2, num_stages=1),
            dict(grid=(1, 1, 1), constants=dict(BLOCK=4096), num_warps=8, num_stages=1),
        ],
    ),
    dict(
        value="%4",
        kernel=pad_v4,
        arguments=["%4: f32[66,103]", "%x: f32[64,100]"],
        constants=dict(),
        candidates=[
            dict(grid=(7, 1, 1), constants=dict(BLOCK=1024), num_warps=4, num_stages=1),
            dict(grid=(14, 1, 1), constants=dict(BLOCK=512), num_warps=4, num_stages=1),
            dict(grid=(4, 1, 1), constants=dict(BLOCK=2048), num_warps=8, num_stages=1),
            dict(grid=(27, 1, 1), constants=dict(BLOCK=256), num_warps=2, num_stages=1),
            dict(grid=(2, 1, 1), constants=dict(BLOCK=4096), num_warps=8, num_stages=1),
        ],
    ),
    dict(
        value="%5",
        kernel=matmul_v5,
        arguments=["%5: bf16[2,3,40,24]", "%a: bf16[2,3,40,64]", "%b: bf16[2,3,64,24]"],
        constants=dict(M=40, N=24, K=64, stride_am=64, stride_ak=1, stride_bk=24, stride_bn=1, stride_v5m=24, stride_v5n=1),
        candidates=[
            dict(grid=(18, 1, 1), constants=dict(BLOCK_M=16, BLOCK_N=32, BLOCK_K=64, GROUP_M=8), num_warps=2, num_stages=4),
            dict(grid=(12, 1, 1), constants=dict(BLOCK_M=32, BLOCK_N=32, BLOCK_K=64, GROUP_M=8), num_warps=4, num_stages=4),
            dict(grid=(6, 1, 1), constants=dict(BLOCK_M=64, BLOCK_N=32, BLOCK_K=64, GROUP_M=8), num_warps=8, num_stages=3),
            dict(grid=(6, 1, 1), constants=dict(BLOCK_M=64, BLOCK_N=32, BLOCK_K=64, GROUP_M=8), num_warps=4, num_stages=4),
        ],
    ),
    dict(
        value="%6",
        kernel=argmax_v6,
        arguments=["%6: i64[64]", "%x: f32[64,100]"],
        constants=dict(),
        candidates=[
            dict(grid=(8, 1, 1), constants=dict(ROWS=8, BLOCK=128), num_warps=2, num_stages=1),
            dict(grid=(4, 1, 1), constants=dict(ROWS=16, BLOCK=128), num_warps=4, num_stages=1),
            dict(grid=(2, 1, 1), constants=dict(ROWS=32, BLOCK=128), num_warps=8, num_stages=1),
            dict(grid=(16, 1, 1), constants=dict(ROWS=4, BLOCK=128), num_warps=1, num_stages=1),
        ],
    ),
    dict(
        value="%7",
        kernel=maximum_v7,
        arguments=["%7: f32[64,100]", "%x: f32[64,100]", "%0: f32[64,100]"],
        constants=dict(),
        candidates=[
            dict(grid=(7, 1, 1), constants=dict(BLOCK=1024), num_warps=4, num_stages=1),
            dict(grid=(13, 1, 1), constants=dict(BLOCK=512), num_warps=4, num_stages=1),
            dict(grid=(4, 1, 1), constants=dict(BLOCK=2048), num_warps=8, num_stages=1),
            dict(grid=(25, 1, 1), constants=dict(BLOCK=256), num_warps=2, num_stages=1),
            dict(grid=(2, 1, 1), constants=dict(BLOCK=4096), num_warps=8, num_stages=1),
        ],
    ),
    dict(
        value="%8",
        kernel=pad_v8,
        arguments=["%8: f32[3,9]", "%one: f32[1,1]"],
        constants=dict(),
        candidates=[
            dict(grid=(1, 1, 1), constants=dict(BLOCK=1024), num_warps=4, num_stages=1),
            dict(grid=(1, 1, 1), constants=dict(BLOCK=512), num_warps=4, num_stages=1),
            dict(grid=(1, 1, 1), constants=dict(BLOCK=2048), num_warps=8, num_stages=1),
            dict(grid=(1, 1, 1), constants=dict(BLOCK=256), num_warps=2, num_stages=1),
            dict(grid=(1, 1, 1), constants=dict(BLOCK=4096), num_warps=8, num_stages=1),
        ],
    ),
]
