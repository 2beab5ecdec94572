# Everything that the language has.
def layer(x: f32[8,16], w: f32[16,12], b: f32[12]) -> f32[8, 12]:
    """One layer.

    Its activation is relu."""
    h = x @ w + b   # a comment
    return relu(h)
---
def one(x): return -x
---
def trailing(
    x,   # parameters over several lines
    y,
):
    return (x +

            y     # inside parentheses lines break anywhere
            - 1.5)
---
def numbers(x):
    a = x * 2 + 0.5 - .25 / 1. + 1e-3 + 2.5E+4 + 0 + 0.0 + 1e-45
    return a + 3.4028235e38
---
def rebinding(x):
    x = relu(x)
    x = x + 1
    return x
---
def kept(x, _y):
    _unused = exp(x)
    return x
---
def methods(x):
    a = x.relu().exp().sigmoid().neg()
    b = (x + a).tanh().sqrt().log().abs().gelu()
    c = 2.0.exp()
    return a.matmul(b) + c
---
def reductions(x):
    s = sum(x) + x.sum() + mean(x, axis=0) + x.max(axis=-1)
    t = x.sum(axis=-1, keepdims=True) + mean(x, keepdims=False, axis=1) + max(x, axis=0, keepdims=True)
    return s + t
---
def movement(x):
    a = reshape(x, 4, 4).reshape(16).reshape((2, 8)).reshape([2, 2, -1])
    b = transpose(a) + a.transpose(2, 1, 0) + transpose(a, (0, -1, 1))
    return b
---
def more(x, y):
    m = maximum(x, 0.0) + minimum(x, y)
    return softmax(m) + m.softmax(axis=0)
---
def functions(x, y):
    a = rsqrt(x) + sin(x) * cos(y) + pow(x, 2) + x.pow(y) + silu(x) + x.erf()
    return a + log_softmax(x) + x.log_softmax(axis=0) + min(x) + x.min(axis=1, keepdims=True)
---
def norms(x, weight, bias):
    a = layer_norm(x) + layer_norm(x, weight, bias, eps=1e-6) + x.layer_norm(axis=0)
    return a + rms_norm(x) + x.rms_norm(weight, eps=0, axis=-1)
---
def joined(x, y):
    return concat(x, y) + concat((x, y), axis=0) + concat([x, y]) + x.concat(y)
---
def signs(a, b):
    return a--b + - -a - (-2.0)
---
def caller(x):
    return callee(x, 1.0)

def callee(x, scale):
    return x * scale
---
def scalar(x: f32, y: f32[]):
    return x * y
---
def constant():
    return 1.0
---
def matching(x):
    match = x + 1
    return match
---
  # Comments may be indented as they like,
def spaced(x):

        # and blank lines stand anywhere.

        y = x

    # Also here.
        return y
---
def two_space(x):
  return x
