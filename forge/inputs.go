package forge

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

// ParseShapes reads shapes as the command line writes them, separated by
// commas: "8x16,16x12,12". A scalar is "scalar". An empty text is no shape.
func ParseShapes(text string) ([]Shape, error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	var shapes []Shape
	for _, part := range strings.Split(text, ",") {
		shape, err := parseShape(strings.TrimSpace(part))
		if err != nil {
			return nil, err
		}
		shapes = append(shapes, shape)
	}
	return shapes, nil
}

func parseShape(text string) (Shape, error) {
	if text == "scalar" {
		return Shape{}, nil
	}
	var shape Shape
	for _, dim := range strings.Split(text, "x") {
		n, err := strconv.Atoi(dim)
		if err != nil || n < 1 || dim[0] == '+' {
			return nil, fmt.Errorf("%q is not a shape: write positive whole numbers joined by x, such as 8x16, or scalar", text)
		}
		shape = append(shape, n)
	}
	if _, err := tensor.Elements(shape); err != nil {
		return nil, fmt.Errorf("shape %q: %w", text, err)
	}
	return shape, nil
}

// ReadInputs reads the inputs of f from an .npz archive that holds one float32
// array for each parameter, by name. More arrays are an error as well, since
// one of them is most likely a parameter with another name.
func (f Function) ReadInputs(path string) ([]*Tensor, error) {
	return readInputs(path, f.Name(), f.Params())
}

// ReadInputs is [Function.ReadInputs] for a program.
func (p *Program) ReadInputs(path string) ([]*Tensor, error) {
	return readInputs(path, p.Name(), p.InputNames())
}

func readInputs(path, name string, params []string) ([]*Tensor, error) {
	named, err := readArchive(path)
	if err != nil {
		return nil, err
	}
	inputs := make([]*Tensor, len(params))
	for _, n := range named {
		i := slices.Index(params, n.Name)
		if i < 0 {
			return nil, fmt.Errorf("%s: %s has no parameter %q; it has %s", path, name, n.Name, strings.Join(params, ", "))
		}
		inputs[i] = n.Tensor
	}
	if i := slices.Index(inputs, nil); i >= 0 {
		return nil, fmt.Errorf("%s: there is no array for parameter %s", path, params[i])
	}
	return inputs, nil
}

func readArchive(path string) ([]tensor.Named, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // without waiting for who writes a pipe
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", path)
	}
	named, err := tensor.ReadNPZ(file, info.Size())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return named, nil
}

// RandomInputs are inputs for the program, the same for equal seeds: floating
// point is standard normal, a bool is true or false with equal chance, and an
// integer is a valid index of every axis of what it is used with.
func (p *Program) RandomInputs(seed uint64) ([]*Tensor, error) { return randomInputs(p.traced, seed) }

func randomInputs(g *ir.Graph, seed uint64) ([]*Tensor, error) {
	list := make([]*Tensor, len(g.Inputs))
	for i, v := range g.Inputs {
		t, err := randomInput(g, v, seed+uint64(i))
		if err != nil {
			return nil, err
		}
		list[i] = t
	}
	return list, nil
}

func randomInput(g *ir.Graph, v *ir.Value, seed uint64) (*Tensor, error) {
	switch v.Spec.DType {
	case tensor.I32, tensor.I64, tensor.Bool:
	default:
		t, err := tensor.Randn(seed, v.Spec.Shape...)
		if err != nil {
			return nil, err
		}
		return t.Convert(v.Spec.DType)
	}
	t, err := tensor.Zeros(v.Spec.DType, v.Spec.Shape...)
	if err != nil {
		return nil, err
	}
	bound := indexBound(g, v)
	if v.Spec.DType == tensor.Bool {
		bound = 2
	}
	source := rand.New(rand.NewPCG(seed, 0))
	for i := range t.Len() {
		t.SetElem(i, float64(source.IntN(bound)))
	}
	return t, nil
}

// indexBound is the smallest extent of any tensor that a reader of v takes
// besides it, so that smaller numbers index each of its axes.
func indexBound(g *ir.Graph, v *ir.Value) int {
	bound := 0
	for _, n := range g.Uses()[v] {
		for _, w := range n.In {
			for _, d := range w.Spec.Shape {
				if w != v && (bound == 0 || d < bound) {
					bound = d
				}
			}
		}
	}
	return max(bound, 1)
}
