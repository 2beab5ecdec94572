package onnx

import (
	"math"

	"forgekernel/forge/onnx/proto"
	"forgekernel/forge/tensor"
)

var _ = register(map[string]operator{
	"HannWindow": {17, cosineWindow(0.5, 0.5, 0)}, "HammingWindow": {17, cosineWindow(25.0/46, 21.0/46, 0)}, "BlackmanWindow": {17, cosineWindow(0.42, 0.5, 0.08)},
})

// cosineWindow is a - b cos(2 pi i/n) + d cos(4 pi i/n) for i from 0 on, where n is
// the size, or one less unless the window is periodic.
func cosineWindow(a, b, d float64) func(*call) {
	return func(c *call) {
		size := c.Lengths([]int64{c.intOf(0, "the size")})[0]
		dtype, err := dtypeOf(proto.DataType(c.int("output_datatype", int64(proto.Float))))
		c.Check(err)
		t, err := tensor.Zeros(dtype, c.room(size))
		c.Check(err)
		n := float64(size)
		if !c.flag("periodic", true) {
			n--
		}
		for i := range size {
			turn := 2 * math.Pi * float64(i) / math.Max(n, 1)
			t.SetElem(i, a-b*math.Cos(turn)+d*math.Cos(2*turn))
		}
		c.setKnown(0, t)
	}
}
