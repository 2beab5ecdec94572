package pt2

import (
	"fmt"
	"slices"
	"strings"

	"forgekernel/forge/backend/interp"
	"forgekernel/forge/importer/formula"
	"forgekernel/forge/ir"
	"forgekernel/forge/op"
	"forgekernel/forge/pt2/archive"
	"forgekernel/forge/tensor"
)

// targets are the operators that can be imported, by name without "torch.ops.". Each
// family adds its own.
var targets = make(map[string]func(c *call))

// register adds a family of operators.
func register(family map[string]func(c *call)) struct{} {
	for name, build := range family {
		if _, ok := targets[name]; ok {
			panic("pt2: target " + name + " is registered twice")
		}
		targets[name] = build
	}
	return struct{}{}
}

// call is the import of one node. Its methods end the import of the node as those of
// [formula.Builder] do.
type call struct {
	formula.Builder // where nodes are added; that of a scratch graph while folding
	*imports
	node    *archive.Node
	scope   *scope
	args    map[string]*archive.Argument
	read    map[string]bool // arguments that the import function asked for
	results []string        // names; empty for one that is not used
	out     []*value
	scratch map[*value]*ir.Value // known values in the scratch graph; nil if not folding
	// computed says that an operand is computed by the program.
	computed bool
}

func (im *imports) newCall(s *scope, n *archive.Node) *call {
	c := &call{Builder: formula.Builder{B: im.b}, imports: im, node: n, scope: s, args: make(map[string]*archive.Argument), read: make(map[string]bool)}
	for i := range n.Inputs {
		c.args[n.Inputs[i].Name] = &n.Inputs[i].Argument
	}
	for i := range n.Outputs {
		switch a := &n.Outputs[i]; {
		case a.None():
			c.results = append(c.results, "")
		case len(a.Names) > 0 || a.List:
			c.results = append(c.results, a.Names...)
		case len(a.Ints) == 1:
			c.results = append(c.results, a.Ints[0].Name)
		}
	}
	c.out = make([]*value, len(c.results))
	return c
}

// target is the operator without "torch.ops.".
func (c *call) target() string { return strings.TrimPrefix(c.node.Target, "torch.ops.") }

// importNode sets the results of the node.
func (c *call) importNode() error {
	computed, missing, err := c.operands()
	if err != nil {
		return err
	}
	target := c.target()
	f, ofNumbers := functions[target]
	build, ok := targets[target]
	pure, changes := inPlace(target)
	switch {
	case changes && !ok && c.args["self"] != nil:
		build = targets[pure]
	case !ok && !ofNumbers:
		c.refuse("")
		return nil
	}
	switch {
	case missing:
		c.setMissing()
		return nil
	case ofNumbers:
		return formula.Try(func() { c.setNumber(0, c.compute(f)) })
	}
	c.computed = computed || nests[target] || c.repeats(target)
	if changes && !ok {
		return c.change(build)
	}
	return c.buildOrFold(build)
}

// repeats reports whether the node repeats the elements of a known tensor. It is
// built, as a view that costs nothing, since a constant would hold every repetition.
func (c *call) repeats(target string) bool {
	if target != "aten.expand.default" && target != "aten.broadcast_to.default" && target != "aten.expand_as.default" {
		return false
	}
	self := c.args["self"]
	if self == nil || len(self.Names) != 1 {
		return false
	}
	v := c.scope.values[self.Names[0]]
	return v != nil && v.known != nil && v.known.Len() > 1
}

// buildOrFold evaluates a node of known operands, and builds any other.
func (c *call) buildOrFold(build func(*call)) error {
	if !c.computed {
		if done, err := c.fold(build); done || err != nil {
			return err
		}
	}
	return c.build(build)
}

// operands looks at all tensors and numbers that the node reads.
func (c *call) operands() (computed, missing bool, err error) {
	for i := range c.node.Inputs {
		a := &c.node.Inputs[i].Argument
		names := slices.Clone(a.Names)
		for _, s := range a.Ints {
			names = append(names, s.Name)
		}
		for _, name := range names {
			if name == "" {
				continue
			}
			v, err := c.scope.lookup(name)
			if err != nil {
				return false, false, err
			}
			computed = computed || v.number == nil && v.known == nil
			missing = missing || v.missing
		}
	}
	return computed, missing, nil
}

func (c *call) build(build func(*call)) error {
	before := len(c.unsupported)
	if err := formula.Try(func() { build(c); c.wrapNarrow() }); err != nil {
		return err
	}
	if len(c.unsupported) == before {
		c.checkUnread()
	}
	return nil
}

// harmless are parameters that do not change results: where and how they are stored.
var harmless = map[string]bool{
	"device": true, "pin_memory": true, "layout": true, "memory_format": true, "non_blocking": true, "copy": true, "requires_grad": true, "implicit": true,
	"cudnn_enable": true, "cudnn_enabled": true, "scale_grad_by_freq": true, "sparse": true, "padding_idx": true, "generator": true, "sorted": true, "stable": true,
	"benchmark": true, "deterministic": true, "allow_tf32": true, "inplace": true, "enable_gqa": true,
}

// checkUnread refuses an argument that the import function does not know, unless it
// is that of a switch that is off.
func (c *call) checkUnread() {
	for _, in := range c.node.Inputs {
		a := &in.Argument
		off := a.None() || len(a.Flags) == 1 && !a.Flags[0]
		if !c.read[in.Name] && !harmless[in.Name] && !off {
			c.refuse(fmt.Sprintf("its argument %s is not known", in.Name))
			return
		}
	}
}

func (c *call) setMissing() {
	for i := range c.out {
		c.out[i] = &value{missing: true}
	}
}

// refuse records the node as unsupported, with the reason if the target is not all of
// it.
func (c *call) refuse(reason string) {
	text := c.describe(c.node)
	if reason != "" {
		text += ": " + reason
	}
	c.unsupported = append(c.unsupported, text)
	c.setMissing()
}

func (c *call) refusef(format string, args ...any) { c.refuse(fmt.Sprintf(format, args...)) }

// fold evaluates a node of known operands. It is not done when the results are
// large.
func (c *call) fold(build func(*call)) (done bool, err error) {
	s := *c
	s.B = ir.NewBuilder(op.Registry, "fold")
	s.scratch = make(map[*value]*ir.Value)
	s.out = make([]*value, len(c.out))
	before := len(c.unsupported)
	if err := s.build(build); err != nil {
		return false, err
	}
	if len(c.unsupported) > before {
		c.setMissing()
		return true, nil
	}
	var results []*ir.Value
	var at []int
	bytes := int64(0)
	for i, v := range s.out {
		if v != nil && v.computed != nil {
			results, at = append(results, v.computed), append(at, i)
			bytes += v.computed.Spec.Bytes()
		}
	}
	if bytes > MaxFold {
		return false, nil
	}
	values, err := c.evaluate(s.B, results)
	if err != nil || len(values) < len(results) {
		return false, err
	}
	copy(c.out, s.out)
	for k, i := range at {
		c.out[i] = &value{known: values[k]}
	}
	return true, nil
}

// evaluate gives no tensors when that is too much work.
func (c *call) evaluate(b *ir.Builder, results []*ir.Value) ([]*tensor.Tensor, error) {
	if len(results) == 0 {
		return nil, nil
	}
	g, err := b.Finish(results...)
	if err != nil || g.Cost().FLOPs > MaxFoldFLOPs {
		return nil, err
	}
	x, err := interp.New().Compile(c.ctx, g)
	if err != nil {
		return nil, err
	}
	return x.Run(c.ctx)
}

// set makes a value of the program result i.
func (c *call) set(i int, v *ir.Value) {
	if i < len(c.out) {
		c.out[i] = &value{computed: v}
	}
}

func (c *call) setNumber(i int, n *number) {
	if i < len(c.out) {
		c.out[i] = &value{number: n}
	}
}
