package check

// rules are the builtin functions that are not componentwise. It is filled at
// the start, because its functions check calls, which look into it.
var rules map[string]rule

func init() {
	rules = map[string]rule{
		"all": {args: 1, result: truths}, "any": {args: 1, result: truths},
		"select": {args: 3, result: choose},
		"dot":    {args: 2, result: scalarOf(true)}, "distance": {args: 2, result: scalarOf(false)},
		"length": {args: 1, result: scalarOf(false)}, "normalize": {args: 1, result: vectors(0)},
		"cross": {args: 2, result: vectors(3)}, "faceForward": {args: 3, result: vectors(0)},
		"reflect": {args: 2, result: vectors(0)}, "refract": {args: 3, result: refraction},
		"ldexp": {args: 2, result: exponent}, "frexp": {args: 1, result: split("frexp", "fract", "exp")},
		"modf":      {args: 1, result: split("modf", "fract", "whole")},
		"transpose": {args: 1, result: transposed}, "determinant": {args: 1, result: determinantOf},
		"extractBits": {args: 3, result: bitField}, "insertBits": {args: 4, result: bitField},
		"arrayLength":  {args: 1, result: runtimeLength},
		"dot4U8Packed": {args: 2, result: packed(u32)}, "dot4I8Packed": {args: 2, result: packed(i32)},
		"workgroupBarrier": {effect: true, result: nothing}, "storageBarrier": {effect: true, result: nothing},
		"workgroupUniformLoad":      {args: 1, effect: true, result: uniformLoad},
		"atomicLoad":                {args: 1, effect: true, result: atomic(0)},
		"atomicStore":               {args: 2, effect: true, result: atomicStore},
		"atomicCompareExchangeWeak": {args: 3, effect: true, result: compareExchange},
	}
	for _, name := range []string{"Add", "Sub", "Max", "Min", "And", "Or", "Xor", "Exchange"} {
		rules["atomic"+name] = rule{args: 2, effect: true, result: atomic(1)}
	}
	for name, from := range packings {
		rules[name] = rule{args: 1, result: func(c *checker, args []*Expr) *Type {
			if !c.convertAll(args, from.wide(c)) {
				return nil
			}
			return u32
		}}
		if from.unpack != "" {
			rules[from.unpack] = rule{args: 1, result: func(c *checker, args []*Expr) *Type {
				if !c.convertAll(args, u32) {
					return nil
				}
				return from.wide(c)
			}}
		}
	}
}

// packing is a vector that a u32 holds.
type packing struct {
	n      int
	elem   *Type
	unpack string // the function that undoes it, or empty
}

func (p packing) wide(c *checker) *Type { return c.types.vec(p.elem, p.n) }

var packings = map[string]packing{
	"pack4x8snorm": {4, f32, "unpack4x8snorm"}, "pack4x8unorm": {4, f32, "unpack4x8unorm"},
	"pack2x16snorm": {2, f32, "unpack2x16snorm"}, "pack2x16unorm": {2, f32, "unpack2x16unorm"},
	"pack2x16float": {2, f32, "unpack2x16float"},
	"pack4xI8":      {4, i32, "unpack4xI8"}, "pack4xU8": {4, u32, "unpack4xU8"},
	"pack4xI8Clamp": {4, i32, ""}, "pack4xU8Clamp": {4, u32, ""},
}

func truths(_ *checker, args []*Expr) *Type {
	if s := args[0].Type.Scalar(); s == nil || s.Kind != Bool {
		return nil
	}
	return boolType
}

func choose(c *checker, args []*Expr) *Type {
	t, cond := unifyShapes(c, args[0], args[1]), args[2].Type
	if t == nil || cond.Scalar() != boolType || cond.Kind == Vec && cond.Words != t.Words || cond.Kind == Vec != (t.Kind == Vec) && cond.Kind == Vec {
		return nil
	}
	if args[2].Op != Const {
		t = c.concreteType(t)
	}
	args[0], args[1] = c.converted(args[0], t), c.converted(args[1], t)
	if cond.Kind != Vec && t.Kind == Vec {
		args[2] = c.splat(c.types.like(t, boolType), args[2])
	}
	return t
}

// unifyShapes is the type that two scalars or vectors convert to.
func unifyShapes(c *checker, x, y *Expr) *Type {
	t := unify(x.Type, y.Type)
	if t == nil || t.Scalar() == nil || t.Kind == Mat {
		return nil
	}
	return t
}

func scalarOf(ints bool) func(*checker, []*Expr) *Type {
	return func(c *checker, args []*Expr) *Type {
		t := c.together(args, true, ints)
		if t == nil || ints && t.Kind != Vec {
			return nil
		}
		return t.Scalar()
	}
}

// vectors takes float vectors of one type, of n components where n is not 0.
func vectors(n int) func(*checker, []*Expr) *Type {
	return func(c *checker, args []*Expr) *Type {
		t := c.together(args, true, false)
		if t == nil || t.Kind != Vec || n > 0 && t.N != n {
			return nil
		}
		return t
	}
}

func refraction(c *checker, args []*Expr) *Type {
	if args[0].Type.Kind != Vec || !args[2].Type.isScalar() {
		return nil
	}
	args[2] = c.splat(c.types.like(args[0].Type, args[2].Type), args[2])
	return vectors(0)(c, args)
}

func exponent(c *checker, args []*Expr) *Type {
	t := c.together(args[:1], true, false)
	e := args[1].Type.Scalar()
	if t == nil || e != i32 && e != abstractInt || args[1].Type.Words != t.Words {
		return nil
	}
	if e == abstractInt && !t.Scalar().isAbstract() {
		args[1] = c.concrete(args[1])
	}
	if args[1].Op != Const {
		t = c.concreteType(t)
		args[0] = c.converted(args[0], t)
	}
	return t
}

// split makes the rule of frexp and modf, which return structures.
func split(name, first, second string) func(*checker, []*Expr) *Type {
	return func(c *checker, args []*Expr) *Type {
		t := c.together(args, true, false)
		if t == nil {
			return nil
		}
		return c.splitResult(name, t, first, second)
	}
}

func (c *checker) splitResult(name string, t *Type, first, second string) *Type {
	other := t
	if name == "frexp" {
		elem := i32
		if t.Scalar() == abstractFloat {
			elem = abstractInt
		}
		other = c.types.like(t, elem)
	}
	return c.types.result("__"+name+"_result_"+t.Name, Field{Name: first, Type: t}, Field{Name: second, Type: other})
}

// concreteResult is the structure that a builtin with abstract arguments
// returns, as it is at run time.
func (c *checker) concreteResult(t *Type) *Type {
	first := c.concreteType(t.Fields[0].Type)
	if first == t.Fields[0].Type {
		return t
	}
	name := "modf"
	if t.Fields[1].Name == "exp" {
		name = "frexp"
	}
	return c.splitResult(name, first, t.Fields[0].Name, t.Fields[1].Name)
}

func transposed(c *checker, args []*Expr) *Type {
	t := args[0].Type
	if t.Kind != Mat {
		return nil
	}
	return c.types.mat(t.Elem, t.Rows, t.N)
}

func determinantOf(_ *checker, args []*Expr) *Type {
	t := args[0].Type
	if t.Kind != Mat || t.N != t.Rows {
		return nil
	}
	return t.Elem
}

func bitField(c *checker, args []*Expr) *Type {
	n := len(args)
	if !c.convertAll(args[n-2:], u32, u32) {
		return nil
	}
	t := c.together(args[:n-2], false, true)
	if t == nil {
		return nil
	}
	t = c.concreteType(t)
	for i := range args[:n-2] {
		args[i] = c.converted(args[i], t)
	}
	return t
}

func packed(result *Type) func(*checker, []*Expr) *Type {
	return func(c *checker, args []*Expr) *Type {
		if !c.convertAll(args, u32, u32) {
			return nil
		}
		return result
	}
}

func runtimeLength(_ *checker, args []*Expr) *Type {
	if t := args[0].Type; t.Kind != Ptr || !t.Elem.Runtime() {
		return nil
	}
	return u32
}

func nothing(*checker, []*Expr) *Type { return void }

func uniformLoad(_ *checker, args []*Expr) *Type {
	t := args[0].Type
	if t.Kind != Ptr || t.Space != Workgroup {
		return nil
	}
	if t.Elem.Kind == Atomic {
		return t.Elem.Elem
	}
	if !t.Elem.constructible() {
		return nil
	}
	return t.Elem
}

// atomic takes a pointer to an atomic and values of its type.
func atomic(values int) func(*checker, []*Expr) *Type {
	return func(c *checker, args []*Expr) *Type {
		t := args[0].Type
		if t.Kind != Ptr || t.Elem.Kind != Atomic || t.Access != ReadWrite {
			return nil
		}
		for i := range values {
			if !c.convertAll(args[1+i:], t.Elem.Elem) {
				return nil
			}
		}
		return t.Elem.Elem
	}
}

func atomicStore(c *checker, args []*Expr) *Type {
	if atomic(1)(c, args) == nil {
		return nil
	}
	return void
}

func compareExchange(c *checker, args []*Expr) *Type {
	t := atomic(2)(c, args)
	if t == nil {
		return nil
	}
	return c.types.result("__atomic_compare_exchange_result_"+t.Name,
		Field{Name: "old_value", Type: t}, Field{Name: "exchanged", Type: boolType})
}
