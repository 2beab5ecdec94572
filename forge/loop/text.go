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
		b.WriteString(p.Value.String() + ": ")
		if p.Written {
			b.WriteString("out ")
		}
		b.WriteString(p.Value.Spec.DType.String())
	}
	b.WriteString(")\n")
	switch {
	case k.Nest != nil:
		k.writeNest(&b)
	case k.Contraction != nil:
		k.writeContraction(&b)
	default:
		k.writeAttention(&b)
	}
	return b.String()
}

func (k *Kernel) writeNest(b *strings.Builder) {
	fmt.Fprintf(b, "nest %s x %s\n", tensor.FormatShape(k.Nest.Outer), tensor.FormatShape(k.Nest.Line))
	for i, s := range k.Nest.Stages {
		b.WriteString("  ")
		switch {
		case s.Reduce != NoReduction:
			fmt.Fprintf(b, "s%d = %s of ", i, s.Reduce)
		case s.Once && s.Store == nil:
			fmt.Fprintf(b, "s%d = ", i)
		case s.Once:
			b.WriteString("once ")
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

func (k *Kernel) writeAttention(b *strings.Builder) {
	a := k.Attention
	fmt.Fprintf(b, "attend [%d,%d/%d] x [%d,%d] of %d and %d channels", a.Batches, a.Heads, a.Groups, a.Queries, a.Keys, a.D, a.E)
	if a.Causal {
		b.WriteString(", causal")
	}
	fmt.Fprintf(b, "\n  softmax(%v * %s * %s) * %s -> %s\n", a.Scale, k.access(a.Q), k.access(a.K), k.access(a.V), k.access(a.Out))
}

func (k *Kernel) access(a Access) string {
	return k.Params[a.Param].Value.String() + tensor.FormatShape(a.Strides)
}

func (k *Kernel) expr(e *Expr) string {
	switch e.Op {
	case Load:
		if e.Access.Bits {
			return "bits " + k.access(*e.Access)
		}
		return "load " + k.access(*e.Access)
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
