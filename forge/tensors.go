package forge

import (
	"math/rand/v2"
	"sync"

	"forgekernel/forge/tensor"
)

// DefaultSeed starts the random constructors of a process that calls no
// [Seed], so that a notebook run twice shows the same numbers.
const DefaultSeed = 1

var random = struct {
	sync.Mutex
	*rand.Rand
}{Rand: newRand(DefaultSeed)}

func newRand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0)) }

// Seed restarts the sequence behind [Rand] and [Randn].
func Seed(n uint64) {
	random.Lock()
	defer random.Unlock()
	random.Rand = newRand(n)
}

// Rand returns float32 numbers uniform in [0, 1). Like every constructor of
// this package it panics with a [*CallError] when there is no such tensor.
func Rand(shape ...int) *Tensor {
	random.Lock()
	defer random.Unlock()
	return generate("Rand", shape, func(int) float32 { return random.Float32() })
}

// Randn returns float32 numbers of the standard normal distribution.
func Randn(shape ...int) *Tensor {
	random.Lock()
	defer random.Unlock()
	return generate("Randn", shape, func(int) float32 { return float32(random.NormFloat64()) })
}

// Zeros returns float32 zeros.
func Zeros(shape ...int) *Tensor { return Full(0, shape...) }

// Ones returns float32 ones.
func Ones(shape ...int) *Tensor { return Full(1, shape...) }

// Full returns a float32 tensor whose elements are all v.
func Full(v float64, shape ...int) *Tensor {
	return generate("Full", shape, func(int) float32 { return float32(v) })
}

// Arange returns 0, 1, … n-1 as float32.
func Arange(n int) *Tensor {
	return generate("Arange", Shape{n}, func(i int) float32 { return float32(i) })
}

// From returns a float32 tensor of the values, row by row. Without a shape it
// has one dimension.
func From(values []float64, shape ...int) *Tensor {
	if shape == nil {
		shape = Shape{len(values)}
	}
	if n, err := tensor.Elements(shape); err == nil && n != len(values) {
		fail("From", "shape %s needs %d values, got %d", tensor.FormatShape(shape), n, len(values))
	}
	return generate("From", shape, func(i int) float32 { return float32(values[i]) })
}

// generate fills a new float32 tensor by element index.
func generate(name string, shape Shape, element func(int) float32) *Tensor {
	t, err := tensor.Zeros(tensor.F32, shape...)
	if err != nil {
		fail(name, "%v", err)
	}
	data := t.Float32()
	for i := range data {
		data[i] = element(i)
	}
	return t
}
