package onnx

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"forgekernel/forge/importer/formula"
	"forgekernel/forge/ir"
	"forgekernel/forge/onnx/proto"
	"forgekernel/forge/tensor"
)

// Limits of the work of one import. A few bytes of a file can ask for much: a loop
// of many rounds, functions that call one another twice, the indices of a huge
// window.
const (
	MaxNodes   = 1 << 18 // imported, those of functions and loops counted each time
	MaxGraph   = 1 << 19 // nodes of IR that are made, those that are folded among them
	MaxNesting = 64      // of functions and branches
	// MaxFold bounds what is made while importing for one node, in bytes: the values
	// of a node that is evaluated, and a constant of an import function.
	MaxFold = 64 << 20
	// MaxMade bounds the same for the whole program.
	MaxMade = 1 << 30
	// MaxFoldFLOPs bounds the arithmetic of all nodes that are evaluated. What is
	// beyond it is left to the program.
	MaxFoldFLOPs = 1 << 31
	// MaxActing is the number of elements of an input that is bound for the sake of
	// the program, which could be computed without; MaxBehind the number of values
	// that are looked at to find it.
	MaxActing = 64
	MaxBehind = 256
	// MaxNotes is the number of notes that are kept, and MaxListed that of unsupported
	// nodes that an error names.
	MaxNotes  = 100
	MaxListed = 20
	// MaxError is the length of an error in bytes. Names and lists of a file may be
	// of any length.
	MaxError = 8 << 10
	// MaxInputs and MaxOpsets bound what a model declares.
	MaxInputs = 4096
	MaxOpsets = 64
)

// budget is what one import has used.
type budget struct {
	nodes, emitted int
	made, flops    int64
}

// countNode counts a node of the file, or a round of a loop.
func (b *budget) countNode() error {
	if b.nodes++; b.nodes > MaxNodes {
		return fmt.Errorf("more than %d nodes are to be imported, with those of functions and loops", MaxNodes)
	}
	return nil
}

// Node counts a node of the program.
func (b *budget) Node() error {
	if b.emitted++; b.emitted > MaxGraph {
		return fmt.Errorf("the program has more than %d nodes", MaxGraph)
	}
	return nil
}

// brief cuts the text of an error that is too long.
func brief(err error) error {
	if err == nil || len(err.Error()) <= MaxError {
		return err
	}
	return errors.New(strings.ToValidUTF8(err.Error()[:MaxError], "") + " …")
}

// Room makes sure that there is room for a constant of these dimensions, for each of
// whose elements 8 bytes are counted.
func (b *budget) Room(dims ...int) error { return b.roomFor(8, dims...) }

func (b *budget) roomFor(width int, dims ...int) error {
	n := 1
	for _, d := range dims {
		if d < 0 {
			return fmt.Errorf("%d is no length", d)
		}
		if d > 0 && n > MaxFold/width/d {
			return fmt.Errorf("a constant of more than %d MiB is needed", MaxFold>>20)
		}
		n *= d
	}
	if b.made += int64(width * n); b.made > MaxMade {
		return fmt.Errorf("constants of more than %d MiB in all are needed", MaxMade>>20)
	}
	return nil
}

// room is [budget.Room] and returns the number of elements.
func (c *call) room(dims ...int) int { return c.roomFor(8, dims...) }

// roomFor counts another number of bytes for each.
func (c *call) roomFor(width int, dims ...int) int {
	c.Check(c.budget.roomFor(width, dims...))
	return formula.Product(dims)
}

// foldable reports whether a graph of known values is small enough to be evaluated,
// and counts it.
func (b *budget) foldable(g *ir.Graph) bool {
	bytes, flops := int64(0), int64(0)
	for _, n := range g.Nodes {
		if n.Op.Class == ir.Constant {
			continue
		}
		flops += n.Op.FLOPs.Of(n)
		for _, v := range n.Out {
			bytes += v.Spec.Bytes()
		}
		if bytes > MaxFold || bytes > MaxMade-b.made || flops < 0 || flops > MaxFoldFLOPs-b.flops {
			return false
		}
	}
	b.flops += flops
	b.made += bytes
	return true
}

// decoded are the tensors of a model that were read, each once however often it is
// imported and however many share its external data.
type decoded struct {
	tensors map[*proto.Tensor]*tensor.Tensor
	shared  map[sharedData]*tensor.Tensor
}

// sharedData is a part of a file beside the model, as elements of a type.
type sharedData struct {
	external
	elem proto.DataType
}

func newDecoded() *decoded {
	return &decoded{make(map[*proto.Tensor]*tensor.Tensor), make(map[sharedData]*tensor.Tensor)}
}

// decode is a tensor of the file.
func (im *imports) decode(t *proto.Tensor) (*tensor.Tensor, error) {
	if known := im.decoded.tensors[t]; known != nil {
		return known, nil
	}
	var key sharedData
	if t.Location == externalData {
		e, err := parseExternal(t.External)
		if err != nil {
			return nil, fmt.Errorf("tensor %q: %w", t.Name, err)
		}
		key = sharedData{e, t.Type}
		if same := im.decoded.shared[key]; same != nil {
			shape, n, err := shapeOf(t.Dims)
			if err == nil && n == same.Len() {
				im.decoded.tensors[t] = same.Reshape(shape...)
				return im.decoded.tensors[t], nil
			}
		}
	}
	known, err := decode(t, im.model.files)
	if err != nil {
		return nil, err
	}
	im.decoded.tensors[t] = known
	if t.Location == externalData {
		im.decoded.shared[key] = known
	}
	return known, nil
}

// small is an attribute that counts something: a number from least to 2^31-1.
func (c *call) small(name string, absent, least int64) int {
	n := c.int(name, absent)
	if n < least || n > math.MaxInt32 {
		c.Fail("%s is %d; it must be a number from %d to %d", name, n, least, math.MaxInt32)
	}
	return int(n)
}

// ranked is the shape of operand i, which must have a rank within limits.
func (c *call) ranked(i, least, most int) []int {
	s := c.shape(i)
	if len(s) < least || len(s) > most {
		c.Fail("operand %d has rank %d; it must be from %d to %d", i, len(s), least, most)
	}
	return s
}
