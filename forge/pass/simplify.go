package pass

import (
	"fmt"
	"math"
	"slices"

	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

// simplification is a rule about one node and the nodes that made its operands.
type simplification struct {
	Rule
	ops []string // the operators that it is about
	// try applies the rule to n and reports whether it did. It reports a
	// decline itself.
	try func(s *simplifier, rule *Rule, n *ir.Node) (bool, error)
}

// simplifier replaces nodes by simpler ones.
type simplifier struct{ *rewriter }

var simplifications = slices.Concat(arithmeticRules, viewRules)

var simplificationsOf = func() map[string][]*simplification {
	of := make(map[string][]*simplification)
	for i := range simplifications {
		for _, name := range simplifications[i].ops {
			of[name] = append(of[name], &simplifications[i])
		}
	}
	return of
}()

func simplificationRules() []*Rule {
	var rules []*Rule
	for i := range simplifications {
		rules = append(rules, &simplifications[i].Rule)
	}
	return rules
}

// simplify applies the rules to every node until none applies. They look only
// at operands, which come earlier and are as simple as can be by then, so that
// one sweep is enough.
func simplify(g *ir.Graph, r *report) error {
	s := &simplifier{newRewriter(g, r)}
	return s.sweep(func(n *ir.Node) error {
		for again := true; again && !s.dead[n]; {
			again = false
			for _, rule := range simplificationsOf[n.Op.Name] {
				done, err := rule.try(s, &rule.Rule, n)
				if err != nil {
					return err
				}
				if done {
					again = true
					break
				}
			}
		}
		return nil
	})
}

// is reports that n is v and lets v stand for it, unless n is a copy that
// something takes over.
func (s *simplifier) is(rule *Rule, n *ir.Node, v *ir.Value, reason string) (bool, error) {
	if why, blockers := s.later(n.Out[0], v); why != "" && !n.Op.View {
		return s.no(rule, n, why, blockers...)
	}
	s.applied(rule, n.Out[0], reason, v)
	s.replace(n, v)
	return true, nil
}

// turns n into another operator.
func (s *simplifier) turns(rule *Rule, n *ir.Node, reason, op string, attrs ir.Attrs, in ...*ir.Value) (bool, error) {
	if why, blockers := s.later(in...); why != "" {
		return s.no(rule, n, why, blockers...)
	}
	s.applied(rule, n.Out[0], reason, in...)
	return true, s.become(n, op, attrs, in...)
}

// no declines at n.
func (s *simplifier) no(rule *Rule, n *ir.Node, reason string, values ...*ir.Value) (bool, error) {
	s.declined(rule, n.Out[0], reason, values...)
	return false, nil
}

// stands reports whether v can stand for the result of n: an operand that n
// stretches cannot.
func stands(n *ir.Node, v *ir.Value) bool { return v.Spec.Equal(n.Out[0].Spec) }

var arithmeticRules = []simplification{
	{
		Rule: Rule{"multiply-by-one", true, "x * 1 and x / 1 are x for every x, also NaN, infinities, denormals and -0"},
		ops:  []string{"mul", "div"},
		try: func(s *simplifier, rule *Rule, n *ir.Node) (bool, error) {
			x, c, ok := withConst(n)
			switch {
			case !ok || n.Op.Name == "div" && x != n.In[0]:
				return false, nil
			case c == 1 && stands(n, x):
				return s.is(rule, n, x, "it is its operand times or over 1")
			case c == 1:
				return s.no(rule, n, fmt.Sprintf("the constant stretches its operand from %s to %s", tensor.FormatShape(x.Spec.Shape), tensor.FormatShape(n.Out[0].Spec.Shape)), x)
			case c == 0 && n.Op.Name == "mul" && x.Spec.DType.IsFloat():
				return s.no(rule, n, "x * 0 is not 0 where x is NaN, infinite or negative", x)
			}
			return false, nil
		},
	},
	{
		Rule: Rule{"add-zero", true, "x + -0 and x - 0 are x for every x; x + 0 gives 0 for x = -0, so x must be known to be no -0"},
		ops:  []string{"add", "sub"},
		try:  addZero,
	},
	{
		Rule: Rule{"negate", true, "x * -1 and -0 - x flip the sign of x and nothing else, as neg does"},
		ops:  []string{"mul", "sub"},
		try: func(s *simplifier, rule *Rule, n *ir.Node) (bool, error) {
			x, c, ok := withConst(n)
			if !ok || !x.Spec.DType.IsFloat() {
				return false, nil
			}
			if n.Op.Name == "sub" {
				switch {
				case x != n.In[1] || c != 0 || !stands(n, x):
					return false, nil
				case !math.Signbit(c):
					return s.no(rule, n, "0 - x is 0 for x = 0, where -x is -0", x)
				}
				return s.turns(rule, n, "-0 - x is -x", "neg", nil, x)
			}
			if c != -1 || !stands(n, x) {
				return false, nil
			}
			return s.turns(rule, n, "x * -1 is -x", "neg", nil, x)
		},
	},
	{
		Rule: Rule{"double-negation", true, "neg flips the sign bit, so twice is never"},
		ops:  []string{"neg"},
		try: func(s *simplifier, rule *Rule, n *ir.Node) (bool, error) {
			if m := made(n.In[0], "neg"); m != nil {
				return s.is(rule, n, m.In[0], "it negates a negation")
			}
			return false, nil
		},
	},
	{
		Rule: Rule{"negated-operand", true, "IEEE 754 defines a - b as a + (-b)"},
		ops:  []string{"add", "sub"},
		try: func(s *simplifier, rule *Rule, n *ir.Node) (bool, error) {
			a, b := n.In[0], n.In[1]
			if m := made(b, "neg"); m != nil && n.Op.Name == "add" {
				return s.turns(rule, n, "adding a negation is subtracting", "sub", nil, a, m.In[0])
			} else if m != nil {
				return s.turns(rule, n, "subtracting a negation is adding", "add", nil, a, m.In[0])
			}
			if m := made(a, "neg"); m != nil && n.Op.Name == "add" {
				return s.turns(rule, n, "adding to a negation is subtracting", "sub", nil, b, m.In[0])
			}
			return false, nil
		},
	},
	{
		Rule: Rule{"reciprocal", true, "dividing by a power of two and multiplying by its reciprocal round the same real number"},
		ops:  []string{"div"},
		try: func(s *simplifier, rule *Rule, n *ir.Node) (bool, error) {
			c, ok := filled(n.In[1])
			if !ok || !n.Out[0].Spec.DType.IsFloat() || c == 1 {
				return false, nil
			}
			if !exactReciprocal(n.Out[0].Spec.DType, c) {
				return s.no(rule, n, fmt.Sprintf("1/%v is no normal number of %v, so multiplying by it would round otherwise", c, n.Out[0].Spec.DType), n.In[1])
			}
			t, err := tensor.Full(n.Out[0].Spec.DType, 1/c, n.In[1].Spec.Shape...)
			if err != nil {
				return false, err
			}
			inverse, err := s.constant(n, "inverse", t)
			if err != nil {
				return false, err
			}
			return s.turns(rule, n, fmt.Sprintf("dividing by %v is multiplying by its reciprocal", c), "mul", nil, n.In[0], inverse)
		},
	},
	{
		Rule: Rule{"reciprocal-root", true, "rsqrt is defined as 1 over the rounded root"},
		ops:  []string{"div"},
		try: func(s *simplifier, rule *Rule, n *ir.Node) (bool, error) {
			c, ok := filled(n.In[0])
			root := made(n.In[1], "sqrt")
			if !ok || c != 1 || root == nil || !stands(n, n.In[1]) {
				return false, nil
			}
			if reason, blockers := roundsOften(n.In[1], "rsqrt"); reason != "" {
				return s.no(rule, n, reason, blockers...)
			}
			if reason, blockers := s.private(n.In[1], n); reason != "" {
				return s.no(rule, n, reason+", so that the root would be taken twice", blockers...)
			}
			return s.turns(rule, n, "1 / sqrt(x) is rsqrt(x)", "rsqrt", nil, root.In[0])
		},
	},
	{
		Rule: Rule{"square", false, "x * x is rounded correctly, where pow is within 1 ulp; both overflow, and both vanish, for the same x"},
		ops:  []string{"pow"},
		try: func(s *simplifier, rule *Rule, n *ir.Node) (bool, error) {
			x := n.In[0]
			c, ok := filled(n.In[1])
			switch {
			case !ok || c != 2 || !stands(n, x):
				return false, nil
			case x.Spec.DType != tensor.F32:
				return s.no(rule, n, fmt.Sprintf("pow and the product do not vanish for the same %v", x.Spec.DType), x)
			}
			return s.turns(rule, n, "the power of two is a product", "mul", nil, x, x)
		},
	},
	{
		Rule: Rule{"idempotent", true, "abs, relu and the like give their own results back, also NaN and 0"},
		ops:  []string{"abs", "relu"},
		try: func(s *simplifier, rule *Rule, n *ir.Node) (bool, error) {
			m := n.In[0].Def
			switch {
			case m == nil:
			case m.Op == n.Op:
				return s.is(rule, n, m.Out[0], "doing it twice changes nothing")
			case m.Op.Name == "neg" && n.Op.Name == "abs":
				return s.turns(rule, n, "the magnitude does not depend on the sign", "abs", nil, m.In[0])
			}
			return false, nil
		},
	},
	{
		Rule: Rule{"extreme-of-itself", true, "of two equal operands, of two NaNs too, either is the result"},
		ops:  []string{"maximum", "minimum"},
		try: func(s *simplifier, rule *Rule, n *ir.Node) (bool, error) {
			if n.In[0] == n.In[1] {
				return s.is(rule, n, n.In[0], "both operands are the same value")
			}
			return false, nil
		},
	},
}

func addZero(s *simplifier, rule *Rule, n *ir.Node) (bool, error) {
	x, c, ok := withConst(n)
	sub := n.Op.Name == "sub"
	if !ok || c != 0 || sub && x != n.In[0] || isConst(x) {
		return false, nil
	}
	negative := math.Signbit(c) != sub // adds -0
	switch {
	case !stands(n, x):
		return s.no(rule, n, fmt.Sprintf("the constant stretches its operand from %s to %s", tensor.FormatShape(x.Spec.Shape), tensor.FormatShape(n.Out[0].Spec.Shape)), x)
	case !x.Spec.DType.IsFloat(), negative:
		return s.is(rule, n, x, "adding this zero changes nothing")
	case neverNegativeZero(x):
		return s.is(rule, n, x, "adding 0 changes only -0, which "+x.Def.Op.Name+" never gives")
	}
	return s.no(rule, n, "x + 0 is 0 for x = -0, and "+x.String()+" may be -0", x)
}

// neverNegativeZero reports whether no element of v can be -0.
func neverNegativeZero(v *ir.Value) bool {
	if v.Def == nil {
		return false
	}
	switch v.Def.Op.Name {
	case "abs", "exp", "relu", "sigmoid", "softmax":
		return true
	case "mul": // a square
		return v.Def.In[0] == v.Def.In[1]
	}
	return false
}

// exactReciprocal reports whether c is a power of two whose reciprocal is a
// normal number of the type.
func exactReciprocal(d tensor.DType, c float64) bool {
	fraction, exponent := math.Frexp(c)
	if math.Abs(fraction) != 0.5 {
		return false
	}
	least, most := -126, 127
	switch d {
	case tensor.F64:
		least, most = -1022, 1023
	case tensor.F16:
		least, most = -14, 15
	}
	inverse := 1 - exponent // of 1/c, as 1/c = 2^(1-exponent)
	return inverse >= least && inverse <= most
}
