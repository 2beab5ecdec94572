package pt2

import (
	"errors"
	"fmt"
	"math"
	"math/big"

	"forgekernel/forge/pt2/symbolic"
	"forgekernel/forge/tensor"
)

// kind is the type of a Python number.
type kind int

const (
	boolKind kind = iota
	intKind
	floatKind
)

// number is a Python number. A bool is 0 or 1.
type number struct {
	kind kind
	int  int64
	real float64
}

func integer(n int64) *number { return &number{kind: intKind, int: n} }
func real(x float64) *number  { return &number{kind: floatKind, real: x} }

func boolean(b bool) *number {
	if b {
		return &number{kind: boolKind, int: 1}
	}
	return &number{kind: boolKind}
}

// float is the value, rounded if an integer is too large.
func (n *number) float() float64 {
	if n.kind == floatKind {
		return n.real
	}
	return float64(n.int)
}

// tensor is the number as PyTorch makes a tensor of it.
func (n *number) tensor() *tensor.Tensor {
	switch n.kind {
	case boolKind:
		return tensor.Scalar(tensor.Bool, float64(n.int))
	case intKind:
		t, err := tensor.From([]int{}, []int64{n.int})
		if err != nil {
			panic(err) // no shape is simpler
		}
		return t
	}
	return tensor.Scalar(tensor.F32, n.real)
}

func (n *number) rat() (*big.Rat, error) {
	if n.kind != floatKind {
		return new(big.Rat).SetInt64(n.int), nil
	}
	if math.IsNaN(n.real) || math.IsInf(n.real, 0) {
		return nil, fmt.Errorf("%v takes part in a computation of sizes", n.real)
	}
	return new(big.Rat).SetFloat64(n.real), nil
}

// function is a function of Python on numbers: that of package symbolic, and the kind
// of its result, -1 for that of the operands.
type function struct {
	name   string
	result kind
}

const ofOperands kind = -1

// functions are the targets that compute numbers of numbers.
var functions = map[string]function{
	"_operator.add": {"Add", ofOperands}, "_operator.sub": {"Sub", ofOperands}, "_operator.mul": {"Mul", ofOperands},
	"_operator.floordiv": {"FloorDiv", ofOperands}, "_operator.mod": {"Mod", ofOperands}, "_operator.pow": {"Pow", ofOperands},
	"_operator.truediv": {"IntTrueDiv", floatKind}, "_operator.neg": {"Neg", ofOperands}, "_operator.pos": {"Identity", ofOperands},
	"_operator.eq": {"Equality", boolKind}, "_operator.ne": {"Unequality", boolKind}, "_operator.lt": {"StrictLessThan", boolKind},
	"_operator.le": {"LessThan", boolKind}, "_operator.gt": {"StrictGreaterThan", boolKind}, "_operator.ge": {"GreaterThan", boolKind},
	"_operator.and_": {"And", boolKind}, "_operator.or_": {"Or", boolKind}, "torch.sym_not": {"Not", boolKind}, "torch.sym_ite": {"Where", ofOperands},
	"torch.sym_max": {"Max", ofOperands}, "torch.sym_min": {"Min", ofOperands}, "torch.sym_float": {"ToFloat", floatKind}, "torch.sym_int": {"TruncToInt", intKind},
	"math.ceil": {"ceiling", intKind}, "math.floor": {"floor", intKind}, "math.trunc": {"TruncToInt", intKind}, "round": {"RoundToInt", intKind},
	"builtins.round": {"RoundToInt", intKind}, "torch._sym_round": {"RoundToInt", intKind},
}

func (f function) apply(args []*number) (*number, error) {
	result := f.result
	rats := make([]*big.Rat, len(args))
	for i, a := range args {
		var err error
		if rats[i], err = a.rat(); err != nil {
			return nil, err
		}
		if f.result == ofOperands {
			result = max(result, a.kind, intKind)
		}
	}
	v, err := symbolic.Apply(f.name, rats...)
	if err != nil {
		return nil, err
	}
	switch {
	case result == floatKind:
		x, _ := v.Float64()
		return real(x), nil
	case !v.IsInt() || !v.Num().IsInt64():
		return nil, errors.New("the result is no integer of 64 bits")
	case result == boolKind:
		return boolean(v.Sign() != 0), nil
	}
	return integer(v.Num().Int64()), nil
}

// compute applies a function to the arguments of the node in order.
func (c *call) compute(f function) *number {
	args := make([]*number, len(c.node.Inputs))
	for i, in := range c.node.Inputs {
		if args[i] = c.number(in.Name); args[i] == nil {
			c.Fail("the argument %s is missing", in.Name)
		}
	}
	v, err := f.apply(args)
	c.Check(err)
	return v
}
