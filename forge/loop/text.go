package loop

import (
	"fmt"
	"strconv"
	"strings"

	"forgekernel/forge/tensor"
)

// String writes the kernel as in the package comment.
func (k *Kernel) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "kernel %s(", k.Op)
	for i, p := range k.Params {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(p.String() + ": ")
		if p.Written {
			b.WriteString("out ")
		}
		b.WriteString(p.DType().String())
	}
	b.WriteString(")\n")
	switch {
	case k.Nest != nil:
		k.writeNest(&b)
	case k.Contraction != nil:
		k.writeContraction(&b)
	case k.Convolution != nil:
		k.writeConvolution(&b)
	default:
		k.writeAttention(&b)
	}
	return b.String()
}

func (k *Kernel) writeNest(b *strings.Builder) {
	fmt.Fprintf(b, "nest %s x %s\n", tensor.FormatShape(k.Nest.Outer), tensor.FormatShape(k.Nest.Line))
	for i, s := range k.Nest.Stages {
		b.WriteString("  ")
		if s.When != nil {
			b.WriteString("when " + k.expr(s.When) + " ")
		}
		switch {
		case s.Require && s.Once:
			b.WriteString("require ")
		case s.Require:
			b.WriteString("require each ")
		case s.Reduce != NoReduction:
			fmt.Fprintf(b, "s%d = %s of ", i, s.Reduce)
			if s.Running != NotRunning {
				fmt.Fprintf(b, "all %s ", s.Running)
			}
		case s.Once && s.Store == nil:
			fmt.Fprintf(b, "s%d = ", i)
		case s.Once:
			b.WriteString("once ")
		case s.Ordered:
			b.WriteString("in order ")
		default:
			b.WriteString("each ")
		}
		b.WriteString(k.expr(s.Expr))
		if s.Store != nil {
			b.WriteString(" -> " + k.access(*s.Store))
		}
		b.WriteByte('\n')
	}
}

func (k *Kernel) writeContraction(b *strings.Builder) {
	c := k.Contraction
	fmt.Fprintf(b, "contract %s x [%d,%d,%d]\n", tensor.FormatShape(c.Batch), c.M, c.N, c.K)
	acc := k.access(c.A) + " * " + k.access(c.B)
	if c.Bias != nil {
		acc = k.access(*c.Bias) + " + " + acc
	}
	fmt.Fprintf(b, "  acc = %s\n", acc)
	result := "acc"
	if c.Epilogue != nil {
		result = k.expr(c.Epilogue)
	}
	fmt.Fprintf(b, "  %s -> %s\n", result, k.access(c.Out))
}

func (k *Kernel) writeConvolution(b *strings.Builder) {
	c := k.Convolution
	fmt.Fprintf(b, "convolve [%d,%d] x [%d,%d] over [%d,%d]", c.Images, c.Groups, c.Outputs, c.Inputs, c.V.Out, c.H.Out)
	for _, w := range []Window{c.V, c.H} {
		fmt.Fprintf(b, ", %d taps %d apart in steps of %d from %d", w.Taps, w.Dilation, w.Stride, -w.Before)
	}
	acc := k.access(c.X) + " * " + k.access(c.W)
	if c.Bias != nil {
		acc = k.access(*c.Bias) + " + " + acc
	}
	fmt.Fprintf(b, "\n  acc = %s\n", acc)
	result := "acc"
	if c.Epilogue != nil {
		result = k.expr(c.Epilogue)
	}
	fmt.Fprintf(b, "  %s -> %s\n", result, k.access(c.Out))
}

func (k *Kernel) writeAttention(b *strings.Builder) {
	a := k.Attention
	fmt.Fprintf(b, "attend [%d,%d/%d] x [%d,%d] of %d and %d channels", a.Batches, a.Heads, a.Groups, a.Queries, a.Keys, a.D, a.E)
	if a.Causal {
		b.WriteString(", causal")
	}
	if a.Strict {
		b.WriteString(", strict")
	}
	if c := a.Cache; c != nil {
		b.WriteString(" from " + k.access(c.Pos))
		if c.Length != nil {
			b.WriteString(" below " + k.access(*c.Length))
		}
		if c.Table != nil {
			fmt.Fprintf(b, " in %d blocks of %d by %s", c.Blocks, c.Block, k.access(*c.Table))
		}
	}
	fmt.Fprintf(b, "\n  softmax(%v * %s * %s", a.Scale, k.access(a.Q), k.access(a.K))
	switch {
	case k.MaskIsBool():
		b.WriteString(" where " + k.access(*a.Mask))
	case a.Mask != nil:
		b.WriteString(" + " + k.access(*a.Mask))
	}
	fmt.Fprintf(b, ") * %s -> %s\n", k.access(a.V), k.access(a.Out))
}

func (k *Kernel) access(a Access) string {
	var b strings.Builder
	b.WriteString(k.Params[a.Param].String() + tensor.FormatShape(a.Strides))
	if a.Offset != 0 {
		fmt.Fprintf(&b, " %+d", a.Offset)
	}
	for _, g := range a.Gathers {
		fmt.Fprintf(&b, " at %d * (%s) below %d", g.Step, k.expr(g.Index), g.Size)
	}
	for i, g := range a.Guards {
		fmt.Fprintf(&b, " %s %s below %d", [2]string{"where", "and"}[min(i, 1)], g.Affine, g.Size)
	}
	return b.String()
}

// String writes the index with the loop variables that it depends on.
func (a Affine) String() string {
	var terms []string
	for i, s := range a.Strides {
		switch s {
		case 0:
		case 1:
			terms = append(terms, fmt.Sprintf("i%d", i))
		default:
			terms = append(terms, fmt.Sprintf("%d*i%d", s, i))
		}
	}
	if a.Offset != 0 || len(terms) == 0 {
		terms = append(terms, strconv.Itoa(a.Offset))
	}
	return strings.ReplaceAll(strings.Join(terms, "+"), "+-", "-")
}

func (k *Kernel) expr(e *Expr) string {
	switch e.Op {
	case Load:
		text := "load " + k.access(*e.Access)
		if e.Access.Bits {
			text = "bits " + k.access(*e.Access)
		}
		if len(e.Args) > 0 {
			text += " else " + k.expr(e.Args[0])
		}
		return text
	case Index:
		return e.Affine.String()
	case Inside:
		return fmt.Sprintf("inside(%s, %d)", e.Affine, e.Int)
	case Const:
		return constText(e)
	case Ref:
		return "s" + strconv.Itoa(e.Stage)
	case Acc:
		return "acc"
	}
	args := make([]string, len(e.Args))
	for i, a := range e.Args {
		args[i] = k.expr(a)
	}
	name := string(e.Op)
	if e.Op == Cast {
		name += "_" + e.Type.String()
	}
	return name + "(" + strings.Join(args, ", ") + ")"
}

func constText(e *Expr) string {
	switch {
	case e.Type == tensor.F64:
		return strconv.FormatFloat(e.Value, 'g', -1, 64)
	case e.Type.IsFloat():
		return strconv.FormatFloat(e.Value, 'g', -1, 32)
	case e.Type == tensor.Bool:
		return strconv.FormatBool(e.Int != 0)
	}
	return strconv.FormatInt(e.Int, 10)
}
