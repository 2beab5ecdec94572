// Package triton writes the kernels of a graph as Python source for Triton, and has
// Triton, where the host's Python has it, make machine code of them. Writing needs
// neither Python nor a GPU.
//
// Each node is lowered by package loop, as for every backend. A contraction becomes a
// product of tiles with its epilogue; a nest becomes a kernel whose programs take a run
// of elements each, or, where a line is folded to a number, a block of rows. A line that
// fits a block is read once and stays in registers; a longer one is passed over once for
// each stage. Operations that Triton has with another result, such as exp, are functions
// that repeat package mathf.
//
// A [Module] is a complete Python file. Sizes and strides of products are constants of
// their kernels, those of nests stand in the text, so that kernels take nothing but
// pointers; those that can find an error take the word of faults and the number of their
// step besides. A table LAUNCHES at the end gives the constants, and for each candidate
// the grid, blocks, warps and stages. Importing the file runs nothing but definitions:
//
//	@triton.jit
//	def linear_h(h_ptr, x_ptr, w_ptr, b_ptr, M: tl.constexpr, ...):
//	    """%h: f32[64,128] = linear %x, %w, %b"""
//	    ...
//
//	LAUNCHES = [
//	    dict(
//	        value="%h",
//	        kernel=linear_h,
//	        arguments=["%h: f32[64,128]", "%x: f32[64,256]", "%w: f32[256,128]", "%b: f32[128]"],
//	        constants=dict(M=64, N=128, ...),
//	        candidates=[
//	            dict(grid=(4, 1, 1), constants=dict(BLOCK_M=32, ...), num_warps=4, num_stages=3),
//
// Sums are in f32 and begin with the bias, as package loop says; products of f32 are not
// rounded to tf32, and nothing is fused to a multiply-add that is not one.
package triton

import (
	"fmt"
	"regexp"
	"strings"

	"forgekernel/forge/backend/planned"
	"forgekernel/forge/ir"
	"forgekernel/forge/loop"
)

// Module is the Triton source of a graph.
type Module struct {
	Name    string // of the graph
	Kernels []*Kernel
	// Missing are the nodes that have no kernel, in order.
	Missing []Missing
}

// Missing is a node without a kernel.
type Missing struct {
	Value string // its first result: "%h"
	Op    string
	Why   string
}

// Kernel is a function of Triton with the ways to launch it.
type Kernel struct {
	Name  string // of the function
	Value string // what it computes or helps to compute: "%h"; empty for a kernel of no node
	Doc   string // the node in one line
	Text  string // of the function, without the operations that it calls
	// Arguments are the pointers that it takes, in the order of the parameters of the
	// [loop.Kernel].
	Arguments []Argument
	// Faults says that two parameters follow: the address of the word of faults, an
	// i32, and the number of the step, an i32.
	Faults    bool
	Constants []Constant // that all candidates have
	// Candidates are the ways to launch it, the likeliest to be quick first.
	Candidates []Launch
}

// Argument is a pointer to the first element of a value.
type Argument struct {
	Name  string // of the parameter
	Value string // "%h", or "$name" for memory of the node's own
	Param loop.Param
}

// String is the value with its type: "%h: f32[64,128]".
func (a Argument) String() string {
	if v := a.Param.Value; v != nil {
		return fmt.Sprintf("%v: %v", v, v.Spec)
	}
	return fmt.Sprintf("%s: %v[%d]", a.Value, a.Param.DType(), a.Param.Elements())
}

// Constant is a compile-time argument.
type Constant struct {
	Name  string
	Value int
}

// Launch is one way to start a kernel.
type Launch struct {
	Grid      [3]int // in programs
	Constants []Constant
	Warps     int // of a program
	Stages    int // of loads that are under way in a loop
}

func (l Launch) String() string {
	var parts []string
	for _, c := range l.Constants {
		parts = append(parts, fmt.Sprintf("%s=%d", c.Name, c.Value))
	}
	return fmt.Sprintf("%s, %d warps, %d stages", strings.Join(parts, " "), l.Warps, l.Stages)
}

// maxBytes bounds the intermediate values of a graph, which is only planned here.
const maxBytes = 1 << 40

// Source writes the kernels of all nodes of a graph that have one.
func Source(g *ir.Graph) (*Module, error) {
	p, err := planned.New(g, maxBytes)
	if err != nil {
		return nil, err
	}
	m := &Module{Name: g.Name}
	names := make(map[string]bool)
	for _, n := range p.Graph.Nodes {
		if n.Op.Class == ir.Constant || p.Idle(n) != "" {
			continue
		}
		kernels, err := p.Lower(n)
		var list []*Kernel
		for i := 0; i < len(kernels) && err == nil; i++ {
			var k *Kernel
			if k, err = Emit(kernels[i], n); err == nil {
				list = append(list, k)
			}
		}
		if err != nil {
			m.Missing = append(m.Missing, Missing{n.Out[0].String(), n.Op.Name, err.Error()})
			continue
		}
		m.add(list, names)
	}
	for _, i := range p.Copied {
		v := p.Graph.Outputs[i]
		k, err := Emit(loop.Copy(v, p.Strides(v)), nil)
		if err != nil {
			return nil, err
		}
		k.Value, k.Doc = v.String(), fmt.Sprintf("a dense copy of %v for the caller", v)
		m.add([]*Kernel{k}, names)
	}
	return m, nil
}

// add appends kernels under names of their own.
func (m *Module) add(list []*Kernel, names map[string]bool) {
	for _, k := range list {
		k.Rename(unique(k.Name, names))
	}
	m.Kernels = append(m.Kernels, list...)
}

// Emit writes a kernel of a node, or of none for a copy. The error says why it has no
// form in Triton.
func Emit(k *loop.Kernel, n *ir.Node) (*Kernel, error) {
	e := newEmitter(k, n)
	var err error
	switch {
	case k.Contraction != nil:
		err = e.contraction()
	case k.Nest != nil:
		err = e.nest()
	case k.Convolution != nil:
		err = fmt.Errorf("a convolution has no form in Triton")
	default:
		err = fmt.Errorf("attention has no form in Triton")
	}
	if err != nil {
		return nil, err
	}
	e.out.Text = prune(e.String())
	return e.out, nil
}

// helping is a line that declares a coordinate or the value of a stage.
var helping = regexp.MustCompile(`(?m)^ *((?:[ij]|once_)\d+(?:_\d+)?) = .*\n`)

// prune drops the variables that nothing uses.
func prune(text string) string {
	for {
		uses := make(map[string]int)
		for _, w := range word.FindAllString(text, -1) {
			uses[w]++
		}
		kept := helping.ReplaceAllStringFunc(text, func(line string) string {
			if uses[word.FindString(line)] > 1 {
				return line
			}
			return ""
		})
		if kept == text {
			return text
		}
		text = kept
	}
}

// Rename gives the function another name.
func (k *Kernel) Rename(name string) {
	k.Text = strings.Replace(k.Text, "def "+k.Name+"(", "def "+name+"(", 1)
	k.Name = name
}
