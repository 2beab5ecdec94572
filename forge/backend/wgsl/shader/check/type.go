// Package check gives a WGSL module its meaning: it resolves names, checks
// types, evaluates constant expressions and lowers the syntax tree to a smaller
// one in which every conversion and every load from memory is explicit.
//
// Types are interned per module, so two equal types are one pointer. Values of
// any type are flat lists of scalar words, in the order of their components:
// a vec3 is three words, an array of two of them is six. A word of i32 and u32
// is its 32 bits, of f32 and f16 the bits of a float32, of bool 0 or 1; the
// abstract numbers, which only constants have, are an int64 and the bits of a
// float64.
package check

import (
	"fmt"

	"forgekernel/forge/backend/wgsl/shader/syntax"
)

// Kind tells types apart.
type Kind uint8

const (
	AbstractInt Kind = iota
	AbstractFloat
	Bool
	I32
	U32
	F32
	F16
	Vec
	Mat
	Array
	Struct
	Ptr
	Ref
	Atomic
	Void
)

// Space is an address space.
type Space uint8

const (
	Function Space = iota
	Private
	Workgroup
	Uniform
	Storage
)

func (s Space) String() string {
	return [...]string{"function", "private", "workgroup", "uniform", "storage"}[s]
}

// Access is what may be done with memory.
type Access uint8

const (
	Read Access = iota
	ReadWrite
)

func (a Access) String() string { return [...]string{"read", "read_write"}[a] }

// Field is a member of a structure.
type Field struct {
	Name   string
	Pos    syntax.Pos
	Type   *Type
	Align  int // bytes
	Offset int // bytes
	Size   int // bytes
	Slot   int // words before it in a flat value
	// Builtin names the builtin value that the field of an entry point's
	// parameter takes.
	Builtin string
}

// Type is a WGSL type.
type Type struct {
	Kind   Kind
	Elem   *Type // of vectors, matrices (the scalar), arrays, pointers, atomics
	N      int   // components, columns, or elements; 0 for a runtime-sized array
	Rows   int   // of a matrix
	Count  *Expr // override expression that counts the elements, else nil
	Name   string
	Fields []Field
	Space  Space
	Access Access

	// Words is how many scalars a value has, 0 where the size is not fixed.
	Words int
	// Align and Size are the layout in memory in bytes; 0 where a type has none.
	Align, Size int
}

func (t *Type) String() string { return t.Name }

// Scalar is the scalar type of the components of a scalar, vector or matrix,
// else nil.
func (t *Type) Scalar() *Type {
	switch {
	case t.Kind == Vec || t.Kind == Mat:
		return t.Elem
	case t.isScalar():
		return t
	}
	return nil
}

func (t *Type) isScalar() bool   { return t.Kind <= F16 }
func (t *Type) isAbstract() bool { return t.Kind <= AbstractFloat }
func (t *Type) isInt() bool      { return t.Kind == AbstractInt || t.Kind == I32 || t.Kind == U32 }
func (t *Type) isFloat() bool    { return t.Kind == AbstractFloat || t.Kind == F32 || t.Kind == F16 }

// IsFloat says whether a type is f32 or f16.
func (t *Type) IsFloat() bool { return t.Kind == F32 || t.Kind == F16 }

// Runtime says whether t is a runtime-sized array.
func (t *Type) Runtime() bool { return t.Kind == Array && t.N == 0 && t.Count == nil }

// Stride is the distance in bytes between elements of an array, or columns of a
// matrix.
func (t *Type) Stride() int {
	if t.Kind == Mat {
		return t.Align
	}
	return roundUp(t.Elem.Size, t.Elem.Align)
}

func roundUp(n, to int) int {
	if to == 0 {
		return n
	}
	return (n + to - 1) / to * to
}

// scalars are the same in all modules.
var (
	abstractInt   = &Type{Kind: AbstractInt, Name: "abstract-int", Words: 1}
	abstractFloat = &Type{Kind: AbstractFloat, Name: "abstract-float", Words: 1}
	boolType      = &Type{Kind: Bool, Name: "bool", Words: 1}
	i32           = &Type{Kind: I32, Name: "i32", Words: 1, Align: 4, Size: 4}
	u32           = &Type{Kind: U32, Name: "u32", Words: 1, Align: 4, Size: 4}
	f32           = &Type{Kind: F32, Name: "f32", Words: 1, Align: 4, Size: 4}
	f16           = &Type{Kind: F16, Name: "f16", Words: 1, Align: 2, Size: 2}
	void          = &Type{Kind: Void, Name: "void"}
)

// types interns the composite types of a module.
type types map[string]*Type

func (ts types) intern(t *Type) *Type {
	if have, ok := ts[t.Name]; ok {
		return have
	}
	ts[t.Name] = t
	return t
}

func (ts types) vec(elem *Type, n int) *Type {
	align := elem.Size * n
	if n == 3 {
		align = elem.Size * 4
	}
	return ts.intern(&Type{Kind: Vec, Elem: elem, N: n, Name: fmt.Sprintf("vec%d<%s>", n, elem.Name),
		Words: n, Align: align, Size: elem.Size * n})
}

// like is a vector of elem as wide as t, or elem itself where t is a scalar.
func (ts types) like(t, elem *Type) *Type {
	switch t.Kind {
	case Vec:
		return ts.vec(elem, t.N)
	case Mat:
		return ts.mat(elem, t.N, t.Rows)
	}
	return elem
}

func (ts types) mat(elem *Type, columns, rows int) *Type {
	column := ts.vec(elem, rows)
	return ts.intern(&Type{Kind: Mat, Elem: elem, N: columns, Rows: rows, Words: columns * rows,
		Name: fmt.Sprintf("mat%dx%d<%s>", columns, rows, elem.Name), Align: column.Align, Size: columns * column.Align})
}

// array is an array of n elements, runtime-sized where n is 0.
func (ts types) array(elem *Type, n int) *Type {
	name := fmt.Sprintf("array<%s, %d>", elem.Name, n)
	if n == 0 {
		name = fmt.Sprintf("array<%s>", elem.Name)
	}
	t := &Type{Kind: Array, Elem: elem, N: n, Name: name, Words: n * elem.Words, Align: elem.Align}
	if elem.Size > 0 {
		t.Size = n * t.Stride()
	}
	return ts.intern(t)
}

func (ts types) pointer(kind Kind, elem *Type, space Space, access Access) *Type {
	name := map[Kind]string{Ptr: "ptr", Ref: "ref"}[kind]
	return ts.intern(&Type{Kind: kind, Elem: elem, Space: space, Access: access,
		Name: fmt.Sprintf("%s<%s, %s, %s>", name, space, elem.Name, access)})
}

func (ts types) atomic(elem *Type) *Type {
	return ts.intern(&Type{Kind: Atomic, Elem: elem, Words: 1, Align: 4, Size: 4, Name: "atomic<" + elem.Name + ">"})
}

// layout gives the members of a structure their places.
func (t *Type) layout() {
	offset, words := 0, 0
	t.Align = 1
	for i := range t.Fields {
		f := &t.Fields[i]
		f.Offset = roundUp(offset, f.Align)
		f.Slot = words
		offset = f.Offset + f.Size
		words += f.Type.Words
		t.Align = max(t.Align, f.Align)
	}
	t.Size, t.Words = roundUp(offset, t.Align), words
}

// result is the structure that a builtin function returns.
func (ts types) result(name string, fields ...Field) *Type {
	t := &Type{Kind: Struct, Name: name, Fields: fields}
	for i, f := range fields {
		t.Fields[i].Align, t.Fields[i].Size = f.Type.Align, f.Type.Size
	}
	t.layout()
	return ts.intern(t)
}

// field finds a member by name.
func (t *Type) field(name string) int {
	for i, f := range t.Fields {
		if f.Name == name {
			return i
		}
	}
	return -1
}

// constructible types have values: they can be returned and held by let.
func (t *Type) constructible() bool {
	switch t.Kind {
	case Array:
		return t.N > 0 && t.Elem.constructible()
	case Struct:
		for _, f := range t.Fields {
			if !f.Type.constructible() {
				return false
			}
		}
		return true
	}
	return t.isScalar() || t.Kind == Vec || t.Kind == Mat
}

// contains says whether t or a part of it is such a type.
func (t *Type) contains(is func(*Type) bool) bool {
	if is(t) {
		return true
	}
	for _, f := range t.Fields {
		if f.Type.contains(is) {
			return true
		}
	}
	return t.Elem != nil && t.Kind != Ptr && t.Kind != Ref && t.Elem.contains(is)
}

// HasHalf says whether t or a part of it is f16.
func (t *Type) HasHalf() bool { return t.contains(func(t *Type) bool { return t.Kind == F16 }) }

// hostShareable fails where a type may not be in storage and uniform memory,
// at the member that may not.
func hostShareable(t *Type, s Space, at syntax.Pos) {
	if t.Kind == Struct {
		for _, f := range t.Fields {
			hostShareable(f.Type, s, f.Pos)
		}
	}
	if t.contains(func(t *Type) bool { return t.Size == 0 && !t.Runtime() || t.Count != nil }) && t.Kind != Struct {
		fail(at, "type '%s' cannot be used in address space '%s' as it is non-host-shareable", t, s)
	}
}
