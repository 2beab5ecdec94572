/* Elementary functions of f64, of CUDA's library: within two units in the last place. */
#define WIDE(name, value) INLINE vd wide_##name(vd y) { const double x = y.a.v; return set_f64(value); }
WIDE(exp, exp(x)) WIDE(log, log(x)) WIDE(sin, sin(x)) WIDE(cos, cos(x)) WIDE(atan, atan(x)) WIDE(erf, erf(x)) WIDE(tanh, tanh(x))
/* As the operators define them: of no positive argument for exp, and -0 at -inf. */
INLINE double wide_half(double x) { const double z = exp(-fabs(x)); return (x < 0 ? z : 1) / (1 + z); }
INLINE double wide_limit(double x, double y) { return x == -__longlong_as_double(0x7ff0000000000000ll) ? -0.0 : y; }
WIDE(sigmoid, wide_half(x)) WIDE(silu, wide_limit(x, x * wide_half(x)))
WIDE(gelu, wide_limit(x, 0.5 * x * erfc(-x / 1.41421356237309504880)))
WIDE(gelu_tanh, wide_limit(x, x * wide_half(2 * 0.79788456080286535588 * (x + 0.044715 * x * x * x))))
INLINE vd wide_pow(vd a, vd b) { return set_f64(pow(a.a.v, b.a.v)); }
