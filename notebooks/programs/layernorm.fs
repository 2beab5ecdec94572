# Layer normalisation over the last axis.

def normalise(x):
    """Gives every row mean 0 and variance 1."""
    centred = x - mean(x, axis=-1, keepdims=True)
    variance = mean(centred * centred, axis=-1, keepdims=True)
    return centred / sqrt(variance + 1e-5)

def layernorm(x: f32[16,128], scale: f32[128], shift: f32[128]) -> f32[16,128]:
    """Normalises the rows of x, then scales and shifts every column."""
    return normalise(x) * scale + shift
