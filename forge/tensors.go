package forge

import (
	"math/rand/v2"
	"strings"
	"sync"

	"forgekernel/display"
	"forgekernel/forge/tensor"
)

// Tensors are the results of a program, in order.
type Tensors []*Tensor

// Display shows the tensors under one another.
func (t Tensors) Display() display.Bundle {
	texts := make([]string, len(t))
	for i, x := range t {
		texts[i], _ = display.ToBundle(x).Data["text/plain"].(string)
	}
	return display.Text(strings.Join(texts, "\n"))
}

// DefaultSeed starts the random constructors of a process that calls no
// [Seed], and generates the inputs of [Program.Inputs] and the command line
// when no other seed is given, so that a notebook run twice shows the same
// numbers.
const DefaultSeed = 1

// random numbers the tensors of [Rand] and [Randn]: each has a seed of its own.
var random = struct {
	sync.Mutex
	seeds *rand.PCG
}{seeds: rand.NewPCG(DefaultSeed, 0)}

// Seed restarts the sequence behind [Rand] and [Randn].
func Seed(n uint64) {
	random.Lock()
	defer random.Unlock()
	random.seeds.Seed(n, 0)
}

func nextSeed() uint64 {
	random.Lock()
	defer random.Unlock()
	return random.seeds.Uint64()
}

// Rand returns float32 numbers uniform in [0, 1). Like every constructor of
// this package it panics with a [*CallError] when there is no such tensor.
func Rand(shape ...int) *Tensor {
	t := must("Rand")(tensor.Rand(nextSeed(), shape...))
	// Exact, as the numbers are multiples of 2^-23 in [-1, 1).
	for i, x := range t.Float32() {
		t.Float32()[i] = (x + 1) / 2
	}
	return t
}

// Randn returns float32 numbers of the standard normal distribution.
func Randn(shape ...int) *Tensor { return must("Randn")(tensor.Randn(nextSeed(), shape...)) }

// Zeros returns float32 zeros.
func Zeros(shape ...int) *Tensor { return must("Zeros")(tensor.Zeros(tensor.F32, shape...)) }

// Ones returns float32 ones.
func Ones(shape ...int) *Tensor { return must("Ones")(tensor.Full(tensor.F32, 1, shape...)) }

// Full returns a float32 tensor whose elements are all v.
func Full(v float64, shape ...int) *Tensor { return must("Full")(tensor.Full(tensor.F32, v, shape...)) }

// Scalar returns v as a float32 tensor of rank 0.
func Scalar(v float64) *Tensor { return Full(v) }

// Arange returns 0, 1, … n-1 as float32.
func Arange(n int) *Tensor {
	t := must("Arange")(tensor.Zeros(tensor.F32, n))
	for i := range t.Float32() {
		t.Float32()[i] = float32(i)
	}
	return t
}

// From returns a float32 tensor of the values, row by row. Without a shape it
// has one dimension.
func From(values []float64, shape ...int) *Tensor {
	if shape == nil {
		shape = Shape{len(values)}
	}
	wide := must("From")(tensor.FromFloat64(shape, values))
	return must("From")(wide.Convert(tensor.F32))
}

// must turns the error of a constructor into a panic with a [*CallError].
func must(name string) func(*Tensor, error) *Tensor {
	return func(t *Tensor, err error) *Tensor {
		if err != nil {
			panic(&CallError{Function: name, Diagnostic: diagnostic("forge."+name+": "+err.Error(), "")})
		}
		return t
	}
}
