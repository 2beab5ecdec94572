"""Triton kernels of the graph vision_text_fusion_4x32_16, compiled with enable_fp_fusion=False.

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
def fault(fault_ptr, step, wrong):
    """Says which step found an error, the first of all."""
    tl.atomic_min(fault_ptr + tl.zeros_like(wrong).to(tl.int32), step, mask=wrong)


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

# %3 = conv2d has no kernel here: a convolution has no form in Triton.


@triton.jit
def mean_seen(
    seen_ptr, v3_ptr,
    ROWS: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """%seen: f32[4,16] = mean %3 {axes = [2, 3]}"""
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    rows = row < 64
    i0 = row // 16
    i1 = row % 16
    column = tl.arange(0, BLOCK)[None, :]
    columns = column < 1024
    j0 = column // 32
    j1 = column % 32
    v3 = tl.load(v3_ptr + i0 * 16384 + i1 * 1024 + j0 * 32 + j1, mask=rows & columns, other=0.0)
    sum_0 = tl.sum(tl.where(columns, v3, 0.0), axis=1, keep_dims=True)
    tl.store(seen_ptr + i0 * 16 + i1, tl.div_rn(sum_0, tl.full((), 1024.0, tl.float32)), mask=rows)


@triton.jit
def gather_embedded(
    embedded_ptr, embedding_ptr, text_ptr, fault_ptr, step,
    BLOCK: tl.constexpr,
):
    """%embedded: f32[4,16,64] = gather %embedding, %text"""
    offset = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offset < 4096
    i0 = offset // 64
    i1 = offset % 64
    text = tl.load(text_ptr + i0, mask=inside, other=0)
    fault(fault_ptr, step, inside & ((text < 0) | (text >= 256)))
    exists = inside & (text >= 0) & (text < 256)
    embedding = tl.load(embedding_ptr + i1 + text * 64, mask=exists, other=0.0)
    tl.store(embedded_ptr + offset, embedding, mask=inside)


@triton.jit
def layer_norm_text_norm(
    text_norm_ptr, embedded_ptr, text_norm_scale_ptr, text_norm_shift_ptr,
    ROWS: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """%text_norm: f32[4,16,64] = layer_norm %embedded, %text_norm_scale, %text_norm_shift {axis = 2}"""
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    rows = row < 64
    i0 = row // 16
    i1 = row % 16
    column = tl.arange(0, BLOCK)[None, :]
    columns = column < 64
    embedded = tl.load(embedded_ptr + i0 * 1024 + i1 * 64 + column, mask=rows & columns, other=0.0)
    sum_0 = tl.sum(tl.where(columns, embedded, 0.0), axis=1, keep_dims=True)
    once_1 = tl.div_rn(sum_0, tl.full((), 64.0, tl.float32))
    sub_ = embedded - once_1
    sum_2 = tl.sum(tl.where(columns, sub_ * sub_, 0.0), axis=1, keep_dims=True)
    rsqrt_ = tl.div_rn(1.0, tl.sqrt_rn(tl.div_rn(sum_2, tl.full((), 64.0, tl.float32)) + 1e-05))
    text_norm_scale = tl.load(text_norm_scale_ptr + column, mask=columns, other=0.0)
    text_norm_shift = tl.load(text_norm_shift_ptr + column, mask=columns, other=0.0)
    tl.store(text_norm_ptr + i0 * 1024 + i1 * 64 + column, ((sub_ * rsqrt_) * text_norm_scale) + text_norm_shift, mask=rows & columns)


@triton.jit
def mean_read(
    read_ptr, text_norm_ptr,
    ROWS: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """%read: f32[4,64] = mean %text_norm {axes = [1]}"""
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    rows = row < 256
    i0 = row // 64
    i1 = row % 64
    column = tl.arange(0, BLOCK)[None, :]
    columns = column < 16
    text_norm = tl.load(text_norm_ptr + i0 * 1024 + i1 + column * 64, mask=rows & columns, other=0.0)
    sum_0 = tl.sum(tl.where(columns, text_norm, 0.0), axis=1, keep_dims=True)
    tl.store(read_ptr + i0 * 64 + i1, tl.div_rn(sum_0, tl.full((), 16.0, tl.float32)), mask=rows)


@triton.jit
def linear_text_proj(
    text_proj_ptr, read_ptr, text_proj_w_ptr, text_proj_b_ptr,
    M: tl.constexpr,
    N: tl.constexpr,
    K: tl.constexpr,
    stride_readm: tl.constexpr,
    stride_readk: tl.constexpr,
    stride_text_proj_wk: tl.constexpr,
    stride_text_proj_wn: tl.constexpr,
    stride_text_projm: tl.constexpr,
    stride_text_projn: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    GROUP_M: tl.constexpr,
):
    """%text_proj: f32[4,64] = linear %read, %text_proj_w, %text_proj_b"""
    # Tiles of GROUP_M rows of tiles follow one another, so that what they read of text_proj_w stays in the cache.
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
    text_proj_b = tl.load(text_proj_b_ptr + n, mask=in_n, other=0.0)
    acc = tl.zeros((BLOCK_M, BLOCK_N), tl.float32) + text_proj_b
    k = tl.arange(0, BLOCK_K)
    read_at = read_ptr + m * stride_readm + k[None, :] * stride_readk
    text_proj_w_at = text_proj_w_ptr + k[:, None] * stride_text_proj_wk + n * stride_text_proj_wn
    for start in range(0, K, BLOCK_K):
        if K % BLOCK_K == 0:
            read_tile = tl.load(read_at, mask=in_m, other=0.0)
            text_proj_w_tile = tl.load(text_proj_w_at, mask=in_n, other=0.0)
        else:
            read_tile = tl.load(read_at, mask=in_m & (start + k < K)[None, :], other=0.0)
            text_proj_w_tile = tl.load(text_proj_w_at, mask=(start + k < K)[:, None] & in_n, other=0.0)
        acc = tl.dot(read_tile, text_proj_w_tile, acc, input_precision="ieee")
        read_at += BLOCK_K * stride_readk
        text_proj_w_at += BLOCK_K * stride_text_proj_wk
    text_proj_at = text_proj_ptr + m * stride_text_projm + n * stride_text_projn
    tl.store(text_proj_at, acc, mask=in_m & in_n)


@triton.jit
def linear_joined(
    joined_ptr, seen_ptr, image_proj_w_ptr, image_proj_b_ptr, text_proj_ptr,
    M: tl.constexpr,
    N: tl.constexpr,
    K: tl.constexpr,
    stride_seenm: tl.constexpr,
    stride_seenk: tl.constexpr,
    stride_image_proj_wk: tl.constexpr,
    stride_image_proj_wn: tl.constexpr,
    stride_joinedm: tl.constexpr,
    stride_joinedn: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    GROUP_M: tl.constexpr,
):
    """%joined: f32[4,64] = linear %seen, %image_proj_w, %image_proj_b, %text_proj"""
    # Tiles of GROUP_M rows of tiles follow one another, so that what they read of image_proj_w stays in the cache.
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
    image_proj_b = tl.load(image_proj_b_ptr + n, mask=in_n, other=0.0)
    acc = tl.zeros((BLOCK_M, BLOCK_N), tl.float32) + image_proj_b
    k = tl.arange(0, BLOCK_K)
    seen_at = seen_ptr + m * stride_seenm + k[None, :] * stride_seenk
    image_proj_w_at = image_proj_w_ptr + k[:, None] * stride_image_proj_wk + n * stride_image_proj_wn
    for start in range(0, K, BLOCK_K):
        if K % BLOCK_K == 0:
            seen_tile = tl.load(seen_at, mask=in_m, other=0.0)
            image_proj_w_tile = tl.load(image_proj_w_at, mask=in_n, other=0.0)
        else:
            seen_tile = tl.load(seen_at, mask=in_m & (start + k < K)[None, :], other=0.0)
            image_proj_w_tile = tl.load(image_proj_w_at, mask=(start + k < K)[:, None] & in_n, other=0.0)
        acc = tl.dot(seen_tile, image_proj_w_tile, acc, input_precision="ieee")
        seen_at += BLOCK_K * stride_seenk
        image_proj_w_at += BLOCK_K * stride_image_proj_wk
    text_proj = tl.load(text_proj_ptr + m * 64 + n, mask=in_m & in_n, other=0.0)
    joined_at = joined_ptr + m * stride_joinedm + n * stride_joinedn
    tl.store(joined_at, acc + text_proj, mask=in_m & in_n)


@triton.jit
def linear_act(
    act_ptr, joined_ptr, hidden_w_ptr, hidden_b_ptr,
    M: tl.constexpr,
    N: tl.constexpr,
    K: tl.constexpr,
    stride_joinedm: tl.constexpr,
    stride_joinedk: tl.constexpr,
    stride_hidden_wk: tl.constexpr,
    stride_hidden_wn: tl.constexpr,
    stride_actm: tl.constexpr,
    stride_actn: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    GROUP_M: tl.constexpr,
):
    """%act: f32[4,64] = linear %joined, %hidden_w, %hidden_b {act = "gelu_tanh"}"""
    # Tiles of GROUP_M rows of tiles follow one another, so that what they read of hidden_w stays in the cache.
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
    hidden_b = tl.load(hidden_b_ptr + n, mask=in_n, other=0.0)
    acc = tl.zeros((BLOCK_M, BLOCK_N), tl.float32) + hidden_b
    k = tl.arange(0, BLOCK_K)
    joined_at = joined_ptr + m * stride_joinedm + k[None, :] * stride_joinedk
    hidden_w_at = hidden_w_ptr + k[:, None] * stride_hidden_wk + n * stride_hidden_wn
    for start in range(0, K, BLOCK_K):
        if K % BLOCK_K == 0:
            joined_tile = tl.load(joined_at, mask=in_m, other=0.0)
            hidden_w_tile = tl.load(hidden_w_at, mask=in_n, other=0.0)
        else:
            joined_tile = tl.load(joined_at, mask=in_m & (start + k < K)[None, :], other=0.0)
            hidden_w_tile = tl.load(hidden_w_at, mask=(start + k < K)[:, None] & in_n, other=0.0)
        acc = tl.dot(joined_tile, hidden_w_tile, acc, input_precision="ieee")
        joined_at += BLOCK_K * stride_joinedk
        hidden_w_at += BLOCK_K * stride_hidden_wk
    act_at = act_ptr + m * stride_actm + n * stride_actn
    tl.store(act_at, gelu_tanh(acc), mask=in_m & in_n)


@triton.jit
def linear_classes(
    classes_ptr, act_ptr, classes_w_ptr, classes_b_ptr,
    M: tl.constexpr,
    N: tl.constexpr,
    K: tl.constexpr,
    stride_actm: tl.constexpr,
    stride_actk: tl.constexpr,
    stride_classes_wk: tl.constexpr,
    stride_classes_wn: tl.constexpr,
    stride_classesm: tl.constexpr,
    stride_classesn: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    GROUP_M: tl.constexpr,
):
    """%classes: f32[4,10] = linear %act, %classes_w, %classes_b"""
    # Tiles of GROUP_M rows of tiles follow one another, so that what they read of classes_w stays in the cache.
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
    classes_b = tl.load(classes_b_ptr + n, mask=in_n, other=0.0)
    acc = tl.zeros((BLOCK_M, BLOCK_N), tl.float32) + classes_b
    k = tl.arange(0, BLOCK_K)
    act_at = act_ptr + m * stride_actm + k[None, :] * stride_actk
    classes_w_at = classes_w_ptr + k[:, None] * stride_classes_wk + n * stride_classes_wn
    for start in range(0, K, BLOCK_K):
        if K % BLOCK_K == 0:
            act_tile = tl.load(act_at, mask=in_m, other=0.0)
            classes_w_tile = tl.load(classes_w_at, mask=in_n, other=0.0)
        else:
            act_tile = tl.load(act_at, mask=in_m & (start + k < K)[None, :], other=0.0)
            classes_w_tile = tl.load(classes_w_at, mask=(start + k < K)[:, None] & in_n, other=0.0)
        acc = tl.dot(act_tile, classes_w_tile, acc, input_precision="ieee")
        act_at += BLOCK_K * stride_actk
        classes_w_at += BLOCK_K * stride_classes_wk
    classes_at = classes_ptr + m * stride_classesm + n * stride_classesn
    tl.store(classes_at, acc, mask=in_m & in_n)


LAUNCHES = [
    dict(
        value="%seen",
        kernel=mean_seen,
        arguments=["%seen: f32[4,16]", "%3: f32[4,16,32,32]"],
        constants=dict(),
        candidates=[
            dict(grid=(64, 1, 1), constants=dict(ROWS=1, BLOCK=1024), num_warps=2, num_stages=1),
            dict(grid=(32, 1, 1), constants=dict(ROWS=2, BLOCK=1024), num_warps=4, num_stages=1),
            dict(grid=(16, 1, 1), constants=dict(ROWS=4, BLOCK=1024), num_warps=8, num_stages=1),
            dict(grid=(64, 1, 1), constants=dict(ROWS=1, BLOCK=1024), num_warps=4, num_stages=1),
        ],
    ),
    dict(
        value="%embedded",
        kernel=gather_embedded,
        arguments=["%embedded: f32[4,16,64]", "%embedding: f32[256,64]", "%text: i64[4,16]"],
        faults=True,  # the address of the word of faults and the number of the step follow
        constants=dict(),
        candidates=[
            dict(grid=(4, 1, 1), constants=dict(BLOCK=1024), num_warps=4, num_stages=1),
            dict(grid=(8, 1, 1), constants=dict(BLOCK=512), num_warps=4, num_stages=1),
            dict(grid=(2, 1, 1), constants=dict(BLOCK=2048), num_warps=8, num_stages=1),
            dict(grid=(16, 1, 1), constants=dict(BLOCK=256), num_warps=2, num_stages=1),
            dict(grid=(1, 1, 1), constants=dict(BLOCK=4096), num_warps=8, num_stages=1),
        ],
    ),
    dict(
        value="%text_norm",
        kernel=layer_norm_text_norm,
        arguments=["%text_norm: f32[4,16,64]", "%embedded: f32[4,16,64]", "%text_norm_scale: f32[64]", "%text_norm_shift: f32[64]"],
        constants=dict(),
        candidates=[
            dict(grid=(4, 1, 1), constants=dict(ROWS=16, BLOCK=64), num_warps=2, num_stages=1),
            dict(grid=(2, 1, 1), constants=dict(ROWS=32, BLOCK=64), num_warps=4, num_stages=1),
            dict(grid=(1, 1, 1), constants=dict(ROWS=64, BLOCK=64), num_warps=8, num_stages=1),
            dict(grid=(8, 1, 1), constants=dict(ROWS=8, BLOCK=64), num_warps=1, num_stages=1),
        ],
    ),
    dict(
        value="%read",
        kernel=mean_read,
        arguments=["%read: f32[4,64]", "%text_norm: f32[4,16,64]"],
        constants=dict(),
        candidates=[
            dict(grid=(4, 1, 1), constants=dict(ROWS=64, BLOCK=16), num_warps=4, num_stages=1),
            dict(grid=(8, 1, 1), constants=dict(ROWS=32, BLOCK=16), num_warps=4, num_stages=1),
            dict(grid=(2, 1, 1), constants=dict(ROWS=128, BLOCK=16), num_warps=4, num_stages=1),
            dict(grid=(4, 1, 1), constants=dict(ROWS=64, BLOCK=16), num_warps=8, num_stages=1),
        ],
    ),
    dict(
        value="%text_proj",
        kernel=linear_text_proj,
        arguments=["%text_proj: f32[4,64]", "%read: f32[4,64]", "%text_proj_w: f32[64,64]", "%text_proj_b: f32[64]"],
        constants=dict(M=4, N=64, K=64, stride_readm=64, stride_readk=1, stride_text_proj_wk=64, stride_text_proj_wn=1, stride_text_projm=64, stride_text_projn=1),
        candidates=[
            dict(grid=(2, 1, 1), constants=dict(BLOCK_M=16, BLOCK_N=32, BLOCK_K=32, GROUP_M=8), num_warps=2, num_stages=4),
            dict(grid=(2, 1, 1), constants=dict(BLOCK_M=16, BLOCK_N=32, BLOCK_K=64, GROUP_M=8), num_warps=2, num_stages=3),
            dict(grid=(1, 1, 1), constants=dict(BLOCK_M=16, BLOCK_N=64, BLOCK_K=16, GROUP_M=8), num_warps=4, num_stages=3),
            dict(grid=(1, 1, 1), constants=dict(BLOCK_M=16, BLOCK_N=64, BLOCK_K=16, GROUP_M=8), num_warps=4, num_stages=4),
            dict(grid=(1, 1, 1), constants=dict(BLOCK_M=16, BLOCK_N=64, BLOCK_K=32, GROUP_M=8), num_warps=4, num_stages=3),
            dict(grid=(1, 1, 1), constants=dict(BLOCK_M=16, BLOCK_N=64, BLOCK_K=64, GROUP_M=8), num_warps=4, num_stages=3),
        ],
    ),
    dict(
        value="%joined",
        kernel=linear_joined,
        arguments=["%joined: f32[4,64]", "%seen: f32[4,16]", "%image_proj_w: f32[16,64]", "%image_proj_b: f32[64]", "%text_proj: f32[4,64]"],
        constants=dict(M=4, N=64, K=16, stride_seenm=16, stride_seenk=1, stride_image_proj_wk=64, stride_image_proj_wn=1, stride_joinedm=64, stride_joinedn=1),
        candidates=[
            dict(grid=(2, 1, 1), constants=dict(BLOCK_M=16, BLOCK_N=32, BLOCK_K=16, GROUP_M=8), num_warps=2, num_stages=4),
            dict(grid=(2, 1, 1), constants=dict(BLOCK_M=16, BLOCK_N=32, BLOCK_K=16, GROUP_M=8), num_warps=2, num_stages=3),
            dict(grid=(1, 1, 1), constants=dict(BLOCK_M=16, BLOCK_N=64, BLOCK_K=16, GROUP_M=8), num_warps=4, num_stages=3),
            dict(grid=(1, 1, 1), constants=dict(BLOCK_M=16, BLOCK_N=64, BLOCK_K=16, GROUP_M=8), num_warps=4, num_stages=4),
        ],
    ),
    dict(
        value="%act",
        kernel=linear_act,
        arguments=["%act: f32[4,64]", "%joined: f32[4,64]", "%hidden_w: f32[64,64]", "%hidden_b: f32[64]"],
        constants=dict(M=4, N=64, K=64, stride_joinedm=64, stride_joinedk=1, stride_hidden_wk=64, stride_hidden_wn=1, stride_actm=64, stride_actn=1),
        candidates=[
            dict(grid=(2, 1, 1), constants=dict(BLOCK_M=16, BLOCK_N=32, BLOCK_K=32, GROUP_M=8), num_warps=2, num_stages=4),
            dict(grid=(2, 1, 1), constants=dict(BLOCK_M=16, BLOCK_N=32, BLOCK_K=64, GROUP_M=8), num_warps=2, num_stages=3),
            dict(grid=(1, 1, 1), constants=dict(BLOCK_M=16, BLOCK_N=64, BLOCK_K=16, GROUP_M=8), num_warps=4, num_stages=3),
            dict(grid=(1, 1, 1), constants=dict(BLOCK_M=16, BLOCK_N=64, BLOCK_K=16, GROUP_M=8), num_warps=4, num_stages=4),
            dict(grid=(1, 1, 1), constants=dict(BLOCK_M=16, BLOCK_N=64, BLOCK_K=32, GROUP_M=8), num_warps=4, num_stages=3),
            dict(grid=(1, 1, 1), constants=dict(BLOCK_M=16, BLOCK_N=64, BLOCK_K=64, GROUP_M=8), num_warps=4, num_stages=3),
        ],
    ),
    dict(
        value="%classes",
        kernel=linear_classes,
        arguments=["%classes: f32[4,10]", "%act: f32[4,64]", "%classes_w: f32[64,10]", "%classes_b: f32[10]"],
        constants=dict(M=4, N=10, K=64, stride_actm=64, stride_actk=1, stride_classes_wk=10, stride_classes_wn=1, stride_classesm=10, stride_classesn=1),
        candidates=[
            dict(grid=(1, 1, 1), constants=dict(BLOCK_M=16, BLOCK_N=16, BLOCK_K=16, GROUP_M=8), num_warps=1, num_stages=3),
            dict(grid=(1, 1, 1), constants=dict(BLOCK_M=16, BLOCK_N=16, BLOCK_K=16, GROUP_M=8), num_warps=1, num_stages=4),
            dict(grid=(1, 1, 1), constants=dict(BLOCK_M=16, BLOCK_N=16, BLOCK_K=32, GROUP_M=8), num_warps=1, num_stages=3),
            dict(grid=(1, 1, 1), constants=dict(BLOCK_M=16, BLOCK_N=16, BLOCK_K=32, GROUP_M=8), num_warps=1, num_stages=4),
            dict(grid=(1, 1, 1), constants=dict(BLOCK_M=16, BLOCK_N=16, BLOCK_K=64, GROUP_M=8), num_warps=1, num_stages=3),
        ],
    ),
]
