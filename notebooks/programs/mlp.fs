# A multilayer perceptron with one hidden layer.
# The first product dominates: 2*8*16*32 FLOPs.

def dense(x, w, b):
    """A fully connected layer: x [n, in] @ w [in, out] + b [out]."""
    return x @ w + b

def mlp(x: f32[8,16], w1: f32[16,32], b1: f32[32], w2: f32[32,12], b2: f32[12]) -> f32[8,12]:
    """Two layers with relu between them."""
    hidden = relu(dense(x, w1, b1))
    return dense(hidden, w2, b2)
