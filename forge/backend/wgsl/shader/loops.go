package shader

// The loops of the operators that most code is made of, written out so that
// the compiler keeps them free of calls.

var addFloats = lanewise{
	func(x, y uint32) uint32 { return word(f32(x) + f32(y)) },
	func(d, x, y []uint32) {
		x, y = x[:len(d)], y[:len(d)]
		for i := range d {
			d[i] = word(f32(x[i]) + f32(y[i]))
		}
	}, func(d, x []uint32, y uint32) {
		x = x[:len(d)]
		for i := range d {
			d[i] = word(f32(x[i]) + f32(y))
		}
	}, func(d []uint32, x uint32, y []uint32) {
		y = y[:len(d)]
		for i := range d {
			d[i] = word(f32(x) + f32(y[i]))
		}
	}}

var subFloats = lanewise{
	func(x, y uint32) uint32 { return word(f32(x) - f32(y)) },
	func(d, x, y []uint32) {
		x, y = x[:len(d)], y[:len(d)]
		for i := range d {
			d[i] = word(f32(x[i]) - f32(y[i]))
		}
	}, func(d, x []uint32, y uint32) {
		x = x[:len(d)]
		for i := range d {
			d[i] = word(f32(x[i]) - f32(y))
		}
	}, func(d []uint32, x uint32, y []uint32) {
		y = y[:len(d)]
		for i := range d {
			d[i] = word(f32(x) - f32(y[i]))
		}
	}}

var mulFloats = lanewise{
	func(x, y uint32) uint32 { return word(f32(x) * f32(y)) },
	func(d, x, y []uint32) {
		x, y = x[:len(d)], y[:len(d)]
		for i := range d {
			d[i] = word(f32(x[i]) * f32(y[i]))
		}
	}, func(d, x []uint32, y uint32) {
		x = x[:len(d)]
		for i := range d {
			d[i] = word(f32(x[i]) * f32(y))
		}
	}, func(d []uint32, x uint32, y []uint32) {
		y = y[:len(d)]
		for i := range d {
			d[i] = word(f32(x) * f32(y[i]))
		}
	}}

var addInts = lanewise{
	func(x, y uint32) uint32 { return x + y },
	func(d, x, y []uint32) {
		x, y = x[:len(d)], y[:len(d)]
		for i := range d {
			d[i] = x[i] + y[i]
		}
	}, func(d, x []uint32, y uint32) {
		x = x[:len(d)]
		for i := range d {
			d[i] = x[i] + y
		}
	}, func(d []uint32, x uint32, y []uint32) {
		y = y[:len(d)]
		for i := range d {
			d[i] = x + y[i]
		}
	}}

var subInts = lanewise{
	func(x, y uint32) uint32 { return x - y },
	func(d, x, y []uint32) {
		x, y = x[:len(d)], y[:len(d)]
		for i := range d {
			d[i] = x[i] - y[i]
		}
	}, func(d, x []uint32, y uint32) {
		x = x[:len(d)]
		for i := range d {
			d[i] = x[i] - y
		}
	}, func(d []uint32, x uint32, y []uint32) {
		y = y[:len(d)]
		for i := range d {
			d[i] = x - y[i]
		}
	}}

var mulInts = lanewise{
	func(x, y uint32) uint32 { return x * y },
	func(d, x, y []uint32) {
		x, y = x[:len(d)], y[:len(d)]
		for i := range d {
			d[i] = x[i] * y[i]
		}
	}, func(d, x []uint32, y uint32) {
		x = x[:len(d)]
		for i := range d {
			d[i] = x[i] * y
		}
	}, func(d []uint32, x uint32, y []uint32) {
		y = y[:len(d)]
		for i := range d {
			d[i] = x * y[i]
		}
	}}
