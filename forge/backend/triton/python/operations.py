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
