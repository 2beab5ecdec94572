package formula

import "forgekernel/forge/ir"

// Negative is below where x < 0, else x, which keeps NaN.
func (f Builder) Negative(x, below *ir.Value) *ir.Value {
	return f.Where(f.Compare("lt", x, 0), below, x)
}

// ExpMinusOne is exp(x) - 1. It loses digits near zero, as the definition does.
func (f Builder) ExpMinusOne(x *ir.Value) *ir.Value { return f.Shift(f.Op("exp", nil, x), -1) }

// Clamp brings x into low … high; NaN stays.
func (f Builder) Clamp(x *ir.Value, low, high float64) *ir.Value {
	return f.Op("maximum", nil, f.Op("minimum", nil, x, f.Number(x, high)), f.Number(x, low))
}

// HardSigmoid is alpha x + beta between 0 and 1.
func (f Builder) HardSigmoid(x *ir.Value, alpha, beta float64) *ir.Value {
	return f.Clamp(f.Shift(f.Scale(x, alpha), beta), 0, 1)
}

// Softplus is max(x, 0) + log(1 + exp(-|x|)), which does not overflow.
func (f Builder) Softplus(x *ir.Value) *ir.Value {
	tail := f.Op("log", nil, f.Shift(f.Op("exp", nil, f.Op("neg", nil, f.Op("abs", nil, x))), 1))
	return f.Add(f.Op("relu", nil, x), tail)
}
