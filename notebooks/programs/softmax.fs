# Softmax written down as its formula says. It overflows: exp(89) is infinite
# in float32, and infinity / infinity is NaN. Compare softmax_stable.fs, and
# check both on inputs of a hundred or more.

def softmax_naive(x: f32[16,64]) -> f32[16,64]:
    """exp(x) / sum(exp(x)) along the last axis; overflows for x > 88."""
    e = exp(x)
    return e / e.sum(axis=-1, keepdims=True)
