package progen

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// Program is one random program. All of its names but main begin with its
// prefix, so that many can be compiled as one package.
type Program struct {
	Seed   uint64
	Prefix string
	// Pieces are declarations, each of which uses the ones before it alone.
	Pieces []string
	// Main are the statements of the main function.
	Main []string
}

// declarations end with a function Prefix+"main".
func (p Program) declarations() string {
	return strings.Join(p.Pieces, "") + "\nfunc " + p.Prefix + "main() {\n" + prologue + strings.Join(p.Main, "") + "}\n"
}

// prologue begins whatever runs statements of the main function.
const prologue = "\tfuel = 2000\n\tdefer caught(" + Ended + ")\n"

// Ended marks what a program shows when a panic ends it.
const Ended = "-1"

// Whole is the program by itself.
func (p Program) Whole() string {
	return "package main\n" + Imports + Support + p.declarations() + "\nfunc main() { " + p.Prefix + "main() }\n"
}

// Together is many programs as one, which runs those whose index follows
// its arguments: each prints Mark and its index first.
func Together(list []Program) string {
	var b strings.Builder
	b.WriteString("package main\n" + Imports + Support)
	b.WriteString("\nfunc main() {\n")
	for i, p := range list {
		fmt.Fprintf(&b, "\tfmt.Println(\"%s%d\")\n\t%smain()\n", Mark, i, p.Prefix)
	}
	b.WriteString("}\n")
	for _, p := range list {
		b.WriteString(p.declarations())
	}
	return b.String()
}

// Mark begins the output of each of several programs.
const Mark = "== program "

// New writes the program of a seed. Size is roughly the number of its
// statements.
func New(seed uint64, size int) Program {
	g := &gen{
		rand: rand.New(rand.NewPCG(seed, 0x9e3779b97f4a7c15)), prefix: fmt.Sprintf("p%d", seed), size: size,
	}
	g.program()
	return Program{Seed: seed, Prefix: g.prefix, Pieces: g.pieces, Main: g.main}
}

// gen is a program being written.
type gen struct {
	rand   *rand.Rand
	prefix string
	size   int // statements left to write
	b      strings.Builder
	pieces []string // declarations
	late   []string // those of templates
	main   []string // statements of the main function
	serial int

	named  []*typ // declared types
	ifaces []*typ
	funcs  []*fun
	arith  []generic // generic functions over numbers

	vars    []variable // in scope
	fn      *body      // the function being written
	calls   bool       // this expression may call
	risk    bool       // this expression may panic, once
	noApply bool       // this expression calls no func values
	inner   int        // depth of blocks
}

type variable struct {
	name  string
	typ   *typ
	fixed bool // it must not be assigned to
	local bool // declared in the present function, and of no use outside
}

// body is what statements must know of the function they are in.
type body struct {
	result *typ
	ret    string // name of the result, or empty
	pure   bool   // it must not change what its caller sees
	main   bool   // it may be cut between any two statements
	quiet  bool   // it runs beside others: no output, no panics
	loops  []*loop
}

type loop struct {
	label string
	used  bool
}

func (g *gen) n(limit int) int         { return g.rand.IntN(limit) }
func (g *gen) chance(percent int) bool { return g.rand.IntN(100) < percent }

// pick chooses one of a list.
func pick[T any](r interface{ n(int) int }, list []T) T { return list[r.n(len(list))] }

// fresh makes a name for something local.
func (g *gen) fresh(letter string) string {
	g.serial++
	return fmt.Sprintf("%s%d", letter, g.serial)
}

// global makes a name for a declaration.
func (g *gen) global(letter string) string { return g.prefix + g.fresh(letter) }

func (g *gen) line(format string, args ...any) {
	g.b.WriteString(strings.Repeat("\t", g.inner))
	fmt.Fprintf(&g.b, format, args...)
	g.b.WriteByte('\n')
}

// block writes a block, with a scope of its own.
func (g *gen) block(head string, inside func()) {
	g.line("%s {", head)
	mark := len(g.vars)
	g.inner++
	inside()
	g.inner--
	g.vars = g.vars[:mark]
	g.line("}")
}

// capture returns what inside writes.
func (g *gen) capture(inside func()) string {
	outer := g.b
	g.b = strings.Builder{}
	inside()
	text := g.b.String()
	g.b = outer
	return text
}

// within writes the body of another function, which sees the variables of
// this one only if it is a closure.
func (g *gen) within(fn *body, closure bool, inside func()) {
	outer, vars, size := g.fn, g.vars, g.size
	g.fn = fn
	if !closure {
		g.vars = nil
	} else {
		g.vars = append([]variable(nil), vars...)
		for i := range g.vars {
			g.vars[i].local = false
		}
	}
	g.size = min(size, 3+g.n(6))
	spent := g.size
	inside()
	g.fn, g.vars, g.size = outer, vars, size-(spent-g.size)
}

// Imports and Support belong to every program.
const Imports = `
import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"math"
	"reflect"
	"runtime"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"unsafe"
)
`

// Support is what programs call: to show values, to be sure of an end, and to
// do safely what may panic.
const Support = `
var fuel int

// step ends a program that runs for too long.
func step() {
	if fuel--; fuel < 0 {
		panic("out of fuel")
	}
}

func show[T any](id int, v T) { fmt.Printf("%d %T %v\n", id, v, v) }

func detail[T any](id int, v T) { fmt.Printf("%d %+v %#v\n", id, v, v) }

func trace[T any](id int, v T) T {
	step()
	fmt.Printf("%d: %v\n", id, v)
	return v
}

func caught(id int) {
	if r := recover(); r != nil {
		if err, ok := r.(error); ok {
			r = err.Error()
		}
		fmt.Printf("%d panic %v\n", id, r)
	}
}

func at[T any](s []T, i int) (v T) {
	if len(s) > 0 {
		v = s[uint(i)%uint(len(s))]
	}
	return v
}

func choose[T any](first bool, a, b T) T {
	if first {
		return a
	}
	return b
}

func whole(f float64) int64 {
	if f > -1e9 && f < 1e9 {
		return int64(f)
	}
	return 7
}

func part(s string, i, n int) string {
	from := int(uint(i) % uint(len(s)+1))
	return s[from:min(from+int(uint(n)%5), len(s))]
}

func upTo(n int) iter.Seq[int] {
	return func(yield func(int) bool) {
		defer fmt.Println("upTo ends")
		for i := range n {
			if !yield(i) {
				return
			}
		}
	}
}

func each[T any](s []T) iter.Seq2[int, T] {
	return func(yield func(int, T) bool) {
		for i, v := range s {
			if !yield(i, v) {
				break
			}
		}
	}
}

var errBase = errors.New("base")

var (
	_ sync.Mutex
	_ bufio.Reader
	_ io.Reader
	_ atomic.Bool
	_ reflect.Type
	_ sort.Interface
	_ json.Number
	_ strings.Builder
	_ unsafe.Pointer
	_ = slices.Max[[]int]
	_ = maps.Keys[map[int]int]
	_ = cmp.Compare[int]
	_ = runtime.Gosched
	_ = strconv.Itoa
	_ = math.Pi
)
`
