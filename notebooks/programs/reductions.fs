# Reductions over one axis and over all, with and without keeping the axis.

def reductions(x: f32[32,48]) -> f32[32,48]:
    """Centres the rows, scales by the largest row sum, shifts by the mean."""
    rows = x.sum(axis=1, keepdims=True)        # [32, 1]
    columns = mean(x, axis=0)                  # [48]
    largest = max(abs(rows))                   # one number
    centred = x - columns
    return centred / (largest + 1.0) + mean(centred * centred)
