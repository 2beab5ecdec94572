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
def bits_of_f64(x):
    return x.to(tl.int64, bitcast=True)


@triton.jit
def f64_of(bits):
    return bits.to(tl.float64, bitcast=True)


@triton.jit
def minus_zero():
    """Triton takes the number -0.0 for 0."""
    return float_of(tl.full((), -0x80000000, tl.int32))


@triton.jit
def fault(fault_ptr, step, wrong):
    """Says which step found an error, the first of all."""
    tl.atomic_min(fault_ptr + tl.zeros_like(wrong).to(tl.int32), step, mask=wrong)


@triton.jit
def plus(a, b):
    return a + b


@triton.jit
def maximum(a, b):
    """NaN wins, and 0 is larger than -0."""
    equal = float_of(bits_of(a) & bits_of(b))
    return tl.where((a > b) | (a != a), a, tl.where(a == b, equal, b))


@triton.jit
def minimum(a, b):
    """NaN wins, and -0 is smaller than 0."""
    equal = float_of(bits_of(a) | bits_of(b))
    return tl.where((a < b) | (a != a), a, tl.where(a == b, equal, b))


@triton.jit
def maximum_f64(a, b):
    equal = f64_of(bits_of_f64(a) & bits_of_f64(b))
    return tl.where((a > b) | (a != a), a, tl.where(a == b, equal, b))


@triton.jit
def minimum_f64(a, b):
    equal = f64_of(bits_of_f64(a) | bits_of_f64(b))
    return tl.where((a < b) | (a != a), a, tl.where(a == b, equal, b))


@triton.jit
def maximum_int(a, b):
    return tl.where(a > b, a, b)


@triton.jit
def minimum_int(a, b):
    return tl.where(a < b, a, b)


@triton.jit
def absolute(x):
    return float_of(bits_of(x) & 0x7FFFFFFF)


@triton.jit
def absolute_f64(x):
    return f64_of(bits_of_f64(x) & 0x7FFFFFFFFFFFFFFF)


@triton.jit
def absolute_int(x):
    return tl.where(x < 0, -x, x)


@triton.jit
def negative(x):
    return float_of(bits_of(x) ^ -0x80000000)


@triton.jit
def negative_f64(x):
    return f64_of(bits_of_f64(x) ^ -0x8000000000000000)


@triton.jit
def with_sign(x, of):
    return float_of((bits_of(x) & 0x7FFFFFFF) | (bits_of(of) & -0x80000000))


@triton.jit
def relu(x):
    return tl.where(x <= 0, 0.0, x)


@triton.jit
def divide_int(a, b):
    """Truncates; the smallest over -1 wraps around to itself. A divisor of 0 is a fault."""
    plain = (b != 0) & (b != -1)
    return tl.where(plain, a // tl.where(plain, b, 1), tl.where(b == -1, -a, a))


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
def log(x):
    low = x < 1.1754944e-38
    y = tl.where(low, x * 8388608.0, x)
    k = (bits_of(y) - 0x3F3504F3) >> 23
    e = tl.where(low, -23.0, 0.0) + k.to(tl.float32)
    f = float_of(bits_of(y) - (k << 23)) - 1
    p = tl.fma(f, 0.053509347, -0.10922534)
    p = tl.fma(p, f, 0.121088855)
    p = tl.fma(p, f, -0.12549633)
    p = tl.fma(p, f, 0.14209637)
    p = tl.fma(p, f, -0.16659373)
    p = tl.fma(p, f, 0.20002222)
    p = tl.fma(p, f, -0.25000167)
    p = tl.fma(p, f, 0.33333313)
    f2 = f * f
    tail = tl.fma(e, -1.9046542e-09, (p * f) * f2)
    tail = tl.fma(f2, -0.5, tail)
    r = tl.fma(e, 0.6931472, f + tail)
    r = tl.where(x == float("inf"), x, r)
    r = tl.where(x == 0, float("-inf"), r)
    return tl.where((x != x) | (x < 0), float("nan"), r)


@triton.jit
def sigmoid(x):
    z = exp_down(x)
    return tl.div_rn(tl.where(x < 0, z, 1.0), 1 + z)


@triton.jit
def tanh(x):
    a = absolute(x)
    u = x * x
    p = tl.fma(u, -0.005692296, 0.020628167)
    p = tl.fma(p, u, -0.053736515)
    p = tl.fma(p, u, 0.13331406)
    p = tl.fma(p, u, -0.3333328)
    near = tl.fma(p * u, x, x)
    far = 1 - tl.div_rn(2.0, exp(2 * a) + 1)
    return with_sign(tl.where(a < 0.625, near, far), x)


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
def upper_tail(a, factor):
    h = a * a
    e = tl.fma(a, a, -h)
    r = tl.div_rn(1.0, a + 4)
    u = (a - 4) * r
    g = tl.fma(u, -0.00010944991, 0.00020977492)
    g = tl.fma(g, u, 0.0015553567)
    g = tl.fma(g, u, -0.0035390898)
    g = tl.fma(g, u, -0.0075223357)
    g = tl.fma(g, u, 0.06041119)
    g = tl.fma(g, u, -0.18652377)
    g = tl.fma(g, u, 0.38713625)
    g = tl.fma(g, u, -0.60789657)
    g = tl.fma(g, u, 0.75528514)
    g = g * r
    g = tl.fma(g, -0.5 * e, g)
    p, n = exp_part(-0.5 * h)
    return tl.where(a > 14.6, 0.0, scale((g * factor) * p, n))


@triton.jit
def erf(x):
    a = absolute(x)
    u = x * x
    p = tl.fma(u, 7.806904e-05, -0.0007997853)
    p = tl.fma(p, u, 0.005187162)
    p = tl.fma(p, u, -0.026853347)
    p = tl.fma(p, u, 0.11283579)
    p = tl.fma(p, u, -0.37612626)
    p = tl.fma(p, u, 0.12837917)
    far = with_sign(1 - upper_tail(a * 1.4142135, 2.0), x)
    return tl.where(x != x, x, tl.where(a < 1, tl.fma(p, x, x), far))


@triton.jit
def gelu(x):
    a = absolute(x)
    u = x * x
    p = tl.fma(u, 5.779289e-07, -9.619444e-06)
    p = tl.fma(p, u, 0.00011623674)
    p = tl.fma(p, u, -0.0011883752)
    p = tl.fma(p, u, 0.009974165)
    p = tl.fma(p, u, -0.06649053)
    p = tl.fma(p, u, 0.3989423)
    tail = upper_tail(a, tl.where(x < 0, x, 1.0))
    y = tl.where(x < 0, tail, x * (1 - tail))
    y = tl.where(a < 1.25, x * tl.fma(p, x, 0.5), y)
    y = tl.where(x < -15, minus_zero(), y)
    return tl.where(x != x, x, y)


@triton.jit
def gelu_tanh(x):
    """Far out the sigmoid is 0 or 1, so that the limits come by themselves, but that -inf * 0 is no number."""
    v = x * tl.fma(x * x, 0.071354814, 1.5957692)
    return tl.where(x < -1.7014118e+38, -1.7014118e+38, x) * sigmoid(v)


@triton.jit
def atan(x):
    a = absolute(x)
    far = a > 2.4142135
    middle = (a <= 2.4142135) & (a > 0.41421356)
    b = tl.where(far, tl.div_rn(-1.0, a), tl.where(middle, tl.div_rn(a - 1, a + 1), a))
    hi = tl.where(far, 1.5707964, tl.where(middle, 0.7853982, 0.0))
    lo = tl.where(far, -4.371139e-08, tl.where(middle, -2.1855694e-08, 0.0))
    z = b * b
    p = tl.fma(z, -0.06083229, 0.10595918)
    p = tl.fma(p, z, -0.14243838)
    p = tl.fma(p, z, 0.1999849)
    p = tl.fma(p, z, -0.33333316)
    y = hi + (tl.fma(p, z * b, b) + lo)
    return tl.where(x != x, x, float_of(bits_of(y) | (bits_of(x) & -0x80000000)))

@triton.jit
def quarter_turns_exact(x):
    """The quarter turns of x >= 2**23 and the angle that is left, by the bits of 2 / pi."""
    bits = bits_of(x)
    m = ((bits & 0x7FFFFF) | 0x800000).to(tl.uint64)
    first = maximum_int(bits >> 23, 136) - 136
    shift = (first & 63).to(tl.uint64)
    near = first < 64
    t0 = tl.full((), 0xA2F9836E4E44, tl.uint64)
    t1 = tl.full((), 0x1529FC2757D1F534, tl.uint64)
    t2 = tl.full((), 0xDDC0DB6295993C43, tl.uint64)
    t3 = tl.full((), 0x9041FE5163ABDEBB, tl.uint64)
    a = tl.where(near, t0, t1)
    b = tl.where(near, t1, t2)
    c = tl.where(near, t2, t3)
    hi = (a << shift) | ((b >> 1) >> (63 - shift))
    lo = (b << shift) | ((c >> 1) >> (63 - shift))
    product = m * hi + tl.umulhi(m, lo)
    fraction = (product << 2).to(tl.int64, bitcast=True) >> 2
    f = fraction.to(tl.float32)
    rest = (fraction - f.to(tl.int64)).to(tl.float32)
    h = f * 3.4061217e-19
    r = h + tl.fma(rest, 3.4061217e-19, tl.fma(f, -9.4783964e-27, tl.fma(f, 3.4061217e-19, -h)))
    return ((product - fraction.to(tl.uint64, bitcast=True)) >> 62).to(tl.int32), r


@triton.jit
def quarter_turns(x):
    """The quarter turns of x >= 0 and the angle that is left."""
    n = libdevice.rint(x * 0.63661975)
    r = tl.fma(n, -1.5707964, x)
    r = tl.fma(n, 4.371139e-08, r)
    r = tl.fma(n, 1.7151245e-15, r)
    far = x > 100000
    q = tl.where(far, 0.0, n).to(tl.int32)
    far_q, far_r = quarter_turns_exact(x)
    return tl.where(far, far_q, q), tl.where(far, far_r, r)


@triton.jit
def sin_or_cos(q, r):
    u = r * r
    s = tl.fma(u, 2.7249314e-06, -0.00019840083)
    s = tl.fma(s, u, 0.008333332)
    s = tl.fma(s, u, -0.16666667)
    c = tl.fma(u, 2.4547437e-05, -0.00138883)
    c = tl.fma(c, u, 0.041666664)
    v = tl.where((q & 1) == 0, tl.fma(s * u, r, r), tl.fma(u * u, c, tl.fma(u, -0.5, 1.0)))
    return float_of(bits_of(v) ^ ((q & 2) << 30))


@triton.jit
def sin(x):
    a = absolute(x)
    q, r = quarter_turns(a)
    v = float_of(bits_of(sin_or_cos(q, r)) ^ (bits_of(x) & -0x80000000))
    return tl.where(a < float("inf"), v, float("nan"))


@triton.jit
def cos(x):
    a = absolute(x)
    q, r = quarter_turns(a)
    return tl.where(a < float("inf"), sin_or_cos(q + 1, r), float("nan"))


@triton.jit
def twice_sum(a_hi, a_lo, b_hi, b_lo):
    """Sums of two floats."""
    s = a_hi + b_hi
    t = s - a_hi
    e = ((a_hi - (s - t)) + (b_hi - t)) + (a_lo + b_lo)
    h = s + e
    return h, e - (h - s)


@triton.jit
def twice_times(a_hi, a_lo, b_hi, b_lo):
    h = a_hi * b_hi
    l = tl.fma(a_hi, b_hi, negative(h))
    l = tl.fma(a_hi, b_lo, l)
    return h, tl.fma(a_lo, b_hi, l)


@triton.jit
def log2_twice(x):
    low = x < 1.1754944e-38
    x = tl.where(low, x * 8388608.0, x)
    k = (bits_of(x) - 0x3F3504F3) >> 23
    e = tl.where(low, -23.0, 0.0) + k.to(tl.float32)
    m = float_of(bits_of(x) - (k << 23))
    f = m - 1
    d_hi = m + 1
    d_lo = m - (d_hi - 1)
    s_hi = tl.div_rn(f, d_hi)
    s_lo = tl.div_rn(tl.fma(negative(s_hi), d_lo, tl.fma(negative(s_hi), d_hi, f)), d_hi)
    u_hi, u_lo = twice_times(s_hi, s_lo, s_hi, s_lo)
    cube_hi, cube_lo = twice_times(s_hi, s_lo, u_hi, u_lo)
    p = tl.fma(u_hi, 0.33251557, 0.41206598)
    p = tl.fma(p, u_hi, 0.5770782)
    tail = (cube_hi * u_hi) * p
    zero = tl.zeros_like(e)
    third_hi, third_lo = twice_times(cube_hi, cube_lo, zero + 0.9617967, zero - 7.028462e-09)
    first_hi, first_lo = twice_times(s_hi, s_lo, zero + 2.88539, zero + 3.851926e-08)
    hi, lo = twice_sum(e, zero, first_hi, first_lo)
    hi, lo = twice_sum(hi, lo, third_hi, third_lo)
    return twice_sum(hi, lo, tail, zero)


@triton.jit
def pow_finite(a, y):
    hi, lo = log2_twice(a)
    t = y * hi
    tail = tl.fma(y, lo, tl.fma(y, hi, negative(t)))
    over = t > 129
    under = t < -151
    t = tl.where(over | under, 0.0, t)
    n = libdevice.rint(t)
    z = ((t - n) + tail) * 0.6931472
    q = tl.fma(z, 0.0013770742, 0.008371741)
    q = tl.fma(q, z, 0.041668735)
    q = tl.fma(q, z, 0.16666493)
    q = tl.fma(q, z, 0.49999994)
    v = scale(1 + tl.fma(q, z * z, z), n)
    return tl.where(over, float("inf"), tl.where(under, 0.0, v))


@triton.jit
def pow(x, y):
    a = absolute(x)
    b = absolute(y)
    inf = float("inf")
    k = tl.where(b < 16777216.0, y, 0.0).to(tl.int32)
    whole_y = (b >= 8388608.0) | (k.to(tl.float32) == y)
    odd = (b < 16777216.0) & whole_y & ((k & 1) == 1)
    limit = (a == 0) | (a == inf) | (b == inf)
    v = tl.where(limit, tl.where(a == 1, 1.0, tl.where((a > 1) == (y > 0), inf, 0.0)), pow_finite(a, y))
    v = tl.where((x < 0) & (limit == 0) & (whole_y == 0), float("nan"), v)
    v = float_of(bits_of(v) ^ tl.where(odd, bits_of(x) & -0x80000000, 0))
    v = tl.where((x != x) | (y != y), float("nan"), v)
    return tl.where((y == 0) | (x == 1), 1.0, v)


@triton.jit
def whole(x, n):
    """A whole number near x with the sign of x; beyond 2**23 every number is one."""
    return tl.where(absolute(x) < 8388608.0, with_sign(n, x), x)


@triton.jit
def round_even(x):
    return whole(x, libdevice.rint(x))


@triton.jit
def floor(x):
    n = libdevice.rint(x)
    return whole(x, n - tl.where(n > x, 1.0, 0.0))


@triton.jit
def ceil(x):
    n = libdevice.rint(x)
    return whole(x, n + tl.where(n < x, 1.0, 0.0))


@triton.jit
def to_i32(x):
    """Truncates, saturates, and makes NaN 0."""
    inside = (x > -2147483648.0) & (x < 2147483648.0)
    n = tl.where(inside, x, 0.0).to(tl.int32)
    return tl.where(x >= 2147483648.0, 2147483647, tl.where(x <= -2147483648.0, -2147483648, n))


@triton.jit
def to_i64(x):
    """Truncates, saturates, and makes NaN 0."""
    inside = (x > -9223372036854775808.0) & (x < 9223372036854775808.0)
    n = tl.where(inside, x, 0.0).to(tl.int64)
    least = tl.full((), -0x8000000000000000, tl.int64)
    return tl.where(x >= 9223372036854775808.0, -1 - least, tl.where(x <= -9223372036854775808.0, least, n))


@triton.jit
def narrow_i64(x):
    """Saturates to 32 bits."""
    x = tl.where(x > 2147483647, 2147483647, x)
    return tl.where(x < -2147483648, -2147483648, x).to(tl.int32)


@triton.jit
def odd_f64(x):
    """To f32, rounded to odd: the result can be rounded again, to half precision, as if it were exact."""
    r = x.to(tl.float32)
    back = r.to(tl.float64)
    bits = bits_of(r) - tl.where(absolute_f64(back) > absolute_f64(x), 1, 0)
    return float_of(bits | tl.where((back < x) | (back > x), 1, 0))


@triton.jit
def odd_i64(x):
    kept = (x >> 11) | tl.where((x & 2047) != 0, 1, 0)
    a = absolute_int(x)
    small = (a <= 9007199254740992) & (a >= 0)
    return odd_f64(tl.where(small, x.to(tl.float64), kept.to(tl.float64) * 2048))


@triton.jit
def odd_i32(x):
    return odd_f64(x.to(tl.float64))
