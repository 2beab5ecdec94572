package pt2

import (
	"slices"

	"forgekernel/forge/importer/formula"
	"forgekernel/forge/ir"
)

var _ = registerViews(map[string]func(*call){
	"aten.repeat.default": repeat, "aten.tile.default": repeat, "aten.roll.default": roll, "aten.flip.default": flip, "aten.repeat_interleave.self_int": repeatInterleave,
	"aten.constant_pad_nd.default": constantPad, "aten.pad.default": pad, "aten.reflection_pad1d.default": padBy(formula.Reflect), "aten.reflection_pad2d.default": padBy(formula.Reflect),
	"aten.replication_pad1d.default": padBy(formula.Edge), "aten.replication_pad2d.default": padBy(formula.Edge),
	"aten.tril.default": triangle(false), "aten.triu.default": triangle(true), "aten.pixel_shuffle.default": pixelShuffle, "aten.pixel_unshuffle.default": pixelUnshuffle,
	"aten.diagonal.default": diagonal,
})

func repeat(c *call) {
	x := c.tensor("self")
	name := "repeats"
	if !c.has(name) {
		name = "dims"
	}
	times := c.lengths(name)
	for len(times) < x.Spec.Rank() {
		times = slices.Insert(times, 0, 1)
	}
	x = c.Reshape(x, slices.Concat(slices.Repeat([]int{1}, len(times)-x.Spec.Rank()), x.Spec.Shape)...)
	c.set(0, c.Tile(x, times))
}

func repeatInterleave(c *call) {
	x := c.tensor("self")
	if !c.has("dim") {
		x = c.Reshape(x, x.Spec.Elements())
	}
	axis, n := c.axis("dim", 0, x.Spec.Rank()), c.Lengths([]int64{c.mustInt("repeats")})[0]
	c.int("output_size", 0)
	wide := c.widen(x, axis+1)
	shape := slices.Clone(wide.Spec.Shape)
	shape[axis+1] = n
	merged := slices.Clone(x.Spec.Shape)
	merged[axis] *= n
	c.set(0, c.Reshape(c.Expand(wide, shape...), merged...))
}

// roll moves elements on, those at the end to the front.
func roll(c *call) {
	x := c.tensor("self")
	shifts, dims := c.ints("shifts"), c.ints("dims")
	shape := x.Spec.Shape
	if len(dims) == 0 {
		x, dims = c.Reshape(x, x.Spec.Elements()), []int64{0}
	}
	if len(shifts) != len(dims) {
		c.Fail("%d shifts of %d dimensions", len(shifts), len(dims))
	}
	for i, d := range dims {
		axis := c.Axis(d, x.Spec.Rank())
		n := int64(x.Spec.Shape[axis])
		if n == 0 {
			continue
		}
		if by := int((shifts[i]%n + n) % n); by > 0 {
			cut := int(n) - by
			x = c.Op("concat", ir.Attrs{"axis": axis}, c.Narrow(x, axis, cut, by), c.Narrow(x, axis, 0, cut))
		}
	}
	c.set(0, c.Reshape(x, shape...))
}

func flip(c *call) {
	x := c.tensor("self")
	for _, axis := range c.Axes(c.ints("dims"), x.Spec.Rank()) {
		if n := x.Spec.Shape[axis]; n > 1 {
			x = c.Op("narrow", ir.Attrs{"axis": axis, "start": n - 1, "length": n, "step": -1}, x)
		}
	}
	c.set(0, x)
}

// borders reads pads, which begin with the last dimension.
func (c *call) borders(name string, rank int) (low, high []int64) {
	list := c.ints(name)
	if len(list)%2 != 0 || len(list) > 2*rank {
		c.Fail("%d pads for rank %d", len(list), rank)
	}
	low, high = make([]int64, rank), make([]int64, rank)
	for i := 0; i < len(list); i += 2 {
		low[rank-1-i/2], high[rank-1-i/2] = list[i], list[i+1]
	}
	return low, high
}

func constantPad(c *call) {
	x := c.tensor("self")
	low, high := c.borders("pad", x.Spec.Rank())
	c.set(0, c.Pad(x, low, high, c.float("value", 0)))
}

func pad(c *call) {
	switch mode := c.str("mode", "constant"); mode {
	case "constant":
		constantPad(c)
	case "reflect":
		c.padBy("pad", formula.Reflect)
	case "replicate":
		c.padBy("pad", formula.Edge)
	case "circular":
		c.padBy("pad", formula.Wrap)
	default:
		c.Fail("padding by %q is not supported", mode)
	}
}

func padBy(mode string) func(*call) { return func(c *call) { c.padBy("padding", mode) } }

func (c *call) padBy(name, mode string) {
	x := c.tensor("self")
	low, high := c.borders(name, x.Spec.Rank())
	for i := range low {
		x = c.PadBy(x, i, low[i], high[i], mode)
	}
	c.float("value", 0)
	c.set(0, x)
}

func triangle(upper bool) func(*call) {
	return func(c *call) { c.set(0, c.Triangle(c.tensor("self"), c.int("diagonal", 0), upper)) }
}

func pixelShuffle(c *call) {
	x, r := c.tensor("self"), c.Lengths([]int64{c.mustInt("upscale_factor")})[0]
	s := x.Spec.Shape
	n := len(s)
	if n < 3 || r < 1 || r > s[n-3] || s[n-3]%(r*r) != 0 {
		c.Fail("a factor of %d does not fit %v", r, x.Spec)
	}
	batch, channels := formula.Product(s[:n-3]), s[n-3]/(r*r)
	v := c.Transpose(c.Reshape(x, batch, channels, r, r, s[n-2], s[n-1]), 0, 1, 4, 2, 5, 3)
	c.set(0, c.Reshape(v, slices.Concat(s[:n-3], []int{channels, s[n-2] * r, s[n-1] * r})...))
}

func pixelUnshuffle(c *call) {
	x, r := c.tensor("self"), c.Lengths([]int64{c.mustInt("downscale_factor")})[0]
	s := x.Spec.Shape
	n := len(s)
	if n < 3 || r < 1 || s[n-2]%r != 0 || s[n-1]%r != 0 {
		c.Fail("a factor of %d does not fit %v", r, x.Spec)
	}
	v := c.Reshape(x, formula.Product(s[:n-3]), s[n-3], s[n-2]/r, r, s[n-1]/r, r)
	v = c.Transpose(v, 0, 1, 3, 5, 2, 4)
	c.set(0, c.Reshape(v, slices.Concat(s[:n-3], []int{s[n-3] * r * r, s[n-2] / r, s[n-1] / r})...))
}

// diagonal picks elements of two dimensions, which it leaves out, and puts their
// diagonal last.
func diagonal(c *call) {
	x := c.tensor("self")
	rank := x.Spec.Rank()
	a, b, k := c.axis("dim1", 0, rank), c.axis("dim2", 1, rank), c.int("offset", 0)
	if a == b || rank < 2 {
		c.Fail("the diagonal of dimensions %d and %d", a, b)
	}
	var perm []int
	for i := range rank {
		if i != a && i != b {
			perm = append(perm, i)
		}
	}
	x = c.Transpose(x, append(perm, a, b)...)
	rows, columns := int64(x.Spec.Shape[rank-2]), int64(x.Spec.Shape[rank-1])
	first, length := k, min(rows, columns-k)
	if k < 0 {
		first, length = -k*columns, min(rows+k, columns)
	}
	if length <= 0 {
		c.Fail("diagonal %d of %v has no elements", k, x.Spec)
	}
	outer := slices.Clone(x.Spec.Shape[:rank-2])
	flat := c.Reshape(x, append(outer, int(rows*columns))...)
	c.set(0, c.Op("narrow", ir.Attrs{"axis": rank - 2, "start": first, "length": length, "step": columns + 1}, flat))
}
