// Package syntax reads WGSL text: it splits a module into tokens, finds its
// template lists as the language defines them, and parses it into a tree whose
// every node knows its line and column. It knows nothing of types or scopes;
// package check gives the tree its meaning.
package syntax

import "fmt"

// Pos is a place in the source: line and column from 1, the column in bytes.
type Pos struct{ Line, Col int }

func (p Pos) String() string { return fmt.Sprintf("%d:%d", p.Line, p.Col) }

// Error is what is wrong with a module, and where.
type Error struct {
	Pos     Pos
	Message string
}

func (e *Error) Error() string { return fmt.Sprintf("%s: %s", e.Pos, e.Message) }

// Errorf makes an Error at a place.
func Errorf(at Pos, format string, args ...any) *Error {
	return &Error{Pos: at, Message: fmt.Sprintf(format, args...)}
}

// Kind tells tokens apart.
type Kind uint8

const (
	EOF Kind = iota
	Identifier
	Keyword
	Integer // Text holds the digits with prefix and suffix
	Float
	Symbol        // an operator or a bracket; a ">" is always alone
	TemplateStart // the "<" that opens a template list
	TemplateEnd   // the ">" that closes one
)

// Token is one word of the source.
type Token struct {
	Kind Kind
	Text string
	Pos  Pos
	// Joined says that the next token follows without space, so that ">" and
	// "=" in a row are ">=".
	Joined bool
}

var keywords = set(`alias break case const const_assert continue continuing default diagnostic discard else
	enable false fn for if let loop override requires return struct switch true var while`)

var attributes = set(`align binding blend_src builtin compute const diagnostic fragment group id interpolate
	invariant location must_use size vertex workgroup_size`)

// reserved are the words that WGSL keeps for later.
var reserved = set(`NULL Self abstract active alignas alignof as asm asm_fragment async attribute auto await
	become cast catch class co_await co_return co_yield coherent column_major common compile
	compile_fragment concept const_cast consteval constexpr constinit crate debugger decltype delete demote
	demote_to_helper do dynamic_cast enum explicit export extends extern external fallthrough filter final
	finally friend from fxgroup get goto groupshared highp impl implements import inline instanceof
	interface layout lowp macro macro_rules match mediump meta mod module move mut mutable namespace new
	nil noexcept noinline nointerpolation non_coherent noncoherent noperspective null nullptr of operator
	package packoffset partition pass patch pixelfragment precise precision premerge priv protected pub
	public readonly ref regardless register reinterpret_cast require resource restrict self set shared
	sizeof smooth snorm static static_assert static_cast std subroutine super target template this
	thread_local throw trait try type typedef typeid typename typeof union unless unorm unsafe unsized use
	using varying virtual volatile wgsl where with writeonly yield`)
