package model

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math"
	"strconv"
	"strings"

	"forgekernel/forge/tensor"
)

// seededRef begins the reference of a seeded model: "seeded:7:{…}".
const seededRef = "seeded:"

// Seeded returns a model whose weights are made from a seed. Every element is a
// function of the seed, its parameter's name and its index in the whole
// parameter, so that ranks of any layout make equal weights, each its own part.
//
// Element i of a parameter is u(h + (i+1) * 0x9e3779b97f4a7c15) with h the FNV-1a
// hash of "seed/name" in 64 bits and u SplitMix64's mixing function, of which the
// top 24 bits are spread over [-1, 1). Matrices are scaled by sqrt(3/in), which
// keeps the size of what passes through, tables by sqrt(3)/2, biases and the
// deviation of norms from 1 by 1/8.
func Seeded(c Config, seed uint64) (*Model, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	raw, err := json.Marshal(c)
	if err != nil {
		return nil, err
	}
	ref := fmt.Sprintf("%s%d:%s", seededRef, seed, raw)
	return newModel(c, ref, seeded(seed)), nil
}

// openSeeded reads what follows the mark in a reference.
func openSeeded(ref string) (*Model, error) {
	number, config, ok := strings.Cut(ref, ":")
	seed, err := strconv.ParseUint(number, 10, 64)
	if !ok || err != nil {
		return nil, fmt.Errorf("a seeded model is written %sSEED:CONFIG", seededRef)
	}
	c, err := ParseConfig([]byte(config))
	if err != nil {
		return nil, err
	}
	return Seeded(c, seed)
}

// seeded is the source of made weights.
type seeded uint64

func (s seeded) Close() error { return nil }

func (s seeded) read(p Param, dtype tensor.DType) (*tensor.Tensor, error) {
	out, err := tensor.Zeros(dtype, p.PartShape()...)
	if err != nil {
		return nil, err
	}
	g := newGenerator(uint64(s), p)
	width := out.Dim(-1)
	line := make([]float32, width)
	for r := range out.Len() / width {
		g.line(line, r)
		if dtype == tensor.F32 {
			copy(out.Float32()[r*width:], line)
		} else {
			tensor.NarrowHalf(dtype, out.Bits16()[r*width:][:width], line)
		}
	}
	return out, nil
}

// generator makes the lines of a part: its last dimension.
type generator struct {
	hash          uint64
	origin, step  int // index of the first element, and from one line to the next
	scale, centre float32
}

func newGenerator(seed uint64, p Param) generator {
	h := fnv.New64a()
	fmt.Fprintf(h, "%d/%s", seed, p.Name)
	g := generator{hash: h.Sum64(), step: p.Shape[len(p.Shape)-1]}
	switch p.Axis {
	case len(p.Shape) - 1:
		g.origin = p.From
	case 0:
		g.origin = p.From * g.step
	}
	g.scale, g.centre = spread(p)
	return g
}

// spread is the range of a parameter's elements around their centre.
func spread(p Param) (scale, centre float32) {
	switch p.Kind {
	case Table:
		return float32(math.Sqrt(3) / 2), 0
	case Matrix:
		return float32(math.Sqrt(3 / float64(p.Shape[0]))), 0
	case Scale:
		return 0.125, 1
	}
	return 0.125, 0
}

func (g generator) line(dst []float32, r int) {
	first := g.origin + r*g.step
	for i := range dst {
		z := g.hash + uint64(first+i+1)*0x9e3779b97f4a7c15
		z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
		z = (z ^ z>>27) * 0x94d049bb133111eb
		z ^= z >> 31
		dst[i] = g.centre + g.scale*(float32(z>>40)*0x1p-23-1)
	}
}
