package eval

import (
	"go/types"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unsafe"

	"golang.org/x/tools/go/ssa"

	"forgekernel/kernel/gocell/rtype"
)

// What package runtime tells about calls would be about the evaluator's. Cells
// that ask are told about their own, with numbers for program counters that no
// code has. Calls of compiled code between them are left out.

// callPoint is a place in user code that a call goes on from. It begins as the
// runtime's description of a function, which has no fields and stands for it.
type callPoint struct {
	runtime.Func
	pc   uintptr
	at   pointKey
	home pointKey // where the function begins
}

type pointKey struct {
	name, file string
	line       int
}

// Program counters of points are this far apart, so that one less or more, as
// it is usual to ask for, is the same place.
const (
	firstPC = 1 << 62
	pcStep  = 16
)

var callPoints struct {
	sync.Mutex
	index map[pointKey]*callPoint
	known map[*callPoint]bool
	list  []*callPoint
}

func pointAt(at, home pointKey) *callPoint {
	c := &callPoints
	c.Lock()
	defer c.Unlock()
	p := c.index[at]
	if p == nil {
		p = &callPoint{pc: uintptr(firstPC + (len(c.list)+1)*pcStep), at: at, home: home}
		if c.index == nil {
			c.index, c.known = map[pointKey]*callPoint{}, map[*callPoint]bool{}
		}
		c.index[at], c.known[p], c.list = p, true, append(c.list, p)
	}
	return p
}

// pointOf finds the place of a program counter, nil for those of compiled code.
func pointOf(pc uintptr) *callPoint {
	if pc < firstPC {
		return nil
	}
	callPoints.Lock()
	defer callPoints.Unlock()
	if i := (pc+pcStep/2-firstPC)/pcStep - 1; i < uintptr(len(callPoints.list)) {
		return callPoints.list[i]
	}
	return nil
}

// own returns the point that a description of a function is of.
func own(f *runtime.Func) *callPoint {
	p := (*callPoint)(unsafe.Pointer(f))
	callPoints.Lock()
	defer callPoints.Unlock()
	if callPoints.known[p] {
		return p
	}
	return nil
}

// callers lists where the calls in progress stand, innermost first.
func (th *thread) callers() []*callPoint {
	var list []*callPoint
	for i := th.depth - 1; i >= 0; i-- {
		fr := th.frames[i]
		if l, ok := fr.location(); ok {
			list = append(list, fr.fn.point(l.Offset))
		}
	}
	return list
}

func (fn *Func) point(offset int) *callPoint {
	key := func(offset int) pointKey {
		before := fn.source.Text[:min(max(offset, 0), len(fn.source.Text))]
		return pointKey{fn.goName, fn.source.Name, fn.source.Line + strings.Count(before, "\n")}
	}
	return pointAt(key(offset), key(fn.begins))
}

// caller is what skip calls above the one that asks stands at, or nil.
func (th *thread) caller(skip int) *callPoint {
	if list := th.callers(); skip >= 0 && skip < len(list) {
		return list[skip]
	}
	return nil
}

// goName is what Go calls a function.
func goName(fn *ssa.Function, main string) string {
	if outer := fn.Parent(); outer != nil {
		number := 0
		for _, f := range outer.AnonFuncs[:slices.Index(outer.AnonFuncs, fn)+1] {
			if f.Synthetic == fn.Synthetic {
				number++
			}
		}
		kind := ".func"
		switch {
		case fn.Synthetic != "": // the body of a loop over a function
			kind = "-range"
		case outer.Parent() != nil:
			kind = "."
		}
		return goName(outer, main) + kind + strconv.Itoa(number)
	}
	path, generic := "main", ""
	origin := fn
	if fn.Origin() != nil {
		origin, generic = fn.Origin(), "[...]"
	}
	if origin.Pkg != nil {
		path = origin.Pkg.Pkg.Path()
	}
	if recv := fn.Signature.Recv(); recv != nil && rtype.NamedOf(recv.Type()) != nil {
		return path + "." + receiver(rtype.NamedOf(recv.Type()).Obj().Name()+generic, isPointer(recv.Type())) + "." + origin.Name()
	}
	if t, method, ok := strings.Cut(fn.Name(), "·"); ok && t != "cell" { // a method checked as a function
		method, _, _ = strings.Cut(method, "[")
		return path + "." + receiver(t+generic, isPointer(fn.Signature.Params().At(0).Type())) + "." + method
	}
	if fn.Name() == main {
		return path + ".main"
	}
	return path + "." + origin.Name() + generic
}

func receiver(name string, pointer bool) string {
	if pointer {
		return "(*" + name + ")"
	}
	return name
}

func init() {
	if f, ok := reflect.TypeFor[runtime.Frames]().FieldByName("callers"); !ok || f.Offset != 0 || f.Type != reflect.TypeFor[[]uintptr]() {
		panic("eval: this Go release keeps the frames of calls in another way")
	}
}

// callerNatives tell of the calls of cells what the runtime tells of compiled ones.
var callerNatives = map[string]native{
	"runtime.Caller": func(th *thread, a []reflect.Value) []reflect.Value {
		p := th.caller(int(a[0].Int()))
		if p == nil {
			return valuesOf(uintptr(0), "", 0, false)
		}
		return valuesOf(p.pc, p.at.file, p.at.line, true)
	},
	"runtime.Callers": func(th *thread, a []reflect.Value) []reflect.Value {
		pcs := a[1].Interface().([]uintptr)
		itself := pointKey{name: "runtime.Callers", file: "runtime"}
		list := append([]*callPoint{pointAt(itself, itself)}, th.callers()...)
		n := 0
		for _, p := range list[min(max(int(a[0].Int()), 0), len(list)):] {
			if n < len(pcs) {
				pcs[n] = p.pc
				n++
			}
		}
		return valuesOf(n)
	},
	"runtime.FuncForPC": func(_ *thread, a []reflect.Value) []reflect.Value {
		if p := pointOf(uintptr(a[0].Uint())); p != nil {
			return valuesOf(&p.Func)
		}
		return valuesOf(runtime.FuncForPC(uintptr(a[0].Uint())))
	},
	"runtime.(*Frames).Next": func(_ *thread, a []reflect.Value) []reflect.Value {
		frame, more := nextFrame(a[0].Interface().(*runtime.Frames))
		return valuesOf(frame, more)
	},
	"runtime.(*Func).Name": func(_ *thread, a []reflect.Value) []reflect.Value {
		f := a[0].Interface().(*runtime.Func)
		if p := own(f); p != nil {
			return valuesOf(p.at.name)
		}
		return valuesOf(f.Name())
	},
	"runtime.(*Func).Entry": func(_ *thread, a []reflect.Value) []reflect.Value {
		f := a[0].Interface().(*runtime.Func)
		if p := own(f); p != nil {
			return valuesOf(pointAt(p.home, p.home).pc)
		}
		return valuesOf(f.Entry())
	},
	"runtime.(*Func).FileLine": func(_ *thread, a []reflect.Value) []reflect.Value {
		f := a[0].Interface().(*runtime.Func)
		if own(f) != nil {
			if p := pointOf(uintptr(a[1].Uint())); p != nil {
				return valuesOf(p.at.file, p.at.line)
			}
			return valuesOf("?", 0)
		}
		file, line := f.FileLine(uintptr(a[1].Uint()))
		return valuesOf(file, line)
	},
	"reflect.(Value).Pointer": func(_ *thread, a []reflect.Value) []reflect.Value {
		v := a[0].Interface().(reflect.Value)
		if v.Kind() == reflect.Func {
			if p := beginning(v); p != nil {
				return valuesOf(p.pc)
			}
		}
		return valuesOf(v.Pointer())
	},
}

func valuesOf(list ...any) []reflect.Value {
	values := make([]reflect.Value, len(list))
	for i, v := range list {
		values[i] = reflect.ValueOf(v)
	}
	return values
}

// nextFrame takes a place of user code off a list of frames.
func nextFrame(f *runtime.Frames) (runtime.Frame, bool) {
	pcs := (*[]uintptr)(unsafe.Pointer(f))
	if len(*pcs) == 0 {
		return f.Next()
	}
	p := pointOf((*pcs)[0])
	if p == nil {
		return f.Next()
	}
	*pcs = (*pcs)[1:]
	return runtime.Frame{
		PC: p.pc, Func: &p.Func, Function: p.at.name, File: p.at.file, Line: p.at.line, Entry: pointAt(p.home, p.home).pc,
	}, len(*pcs) > 0
}

// beginning is where the interpreted function of a func value begins, or nil.
func beginning(f reflect.Value) *callPoint {
	if f.IsNil() {
		return nil
	}
	clo := closureOf(word(f))
	if clo == nil {
		return nil
	}
	for clo.target.clo != nil {
		clo = clo.target.clo
	}
	fn := clo.target.fn
	if clo.target.code != nil {
		fn = clo.target.code.fn.Load()
	}
	if fn == nil || fn.source == nil {
		return nil
	}
	return fn.point(fn.begins)
}

// stackText is what runtime/debug.Stack says.
func (th *thread) stackText() string {
	var b strings.Builder
	b.WriteString("goroutine 1 [running]:\n")
	if th.id != 0 {
		b.Reset()
		b.WriteString("goroutine " + strconv.FormatUint(th.id, 10) + " [running]:\n")
	}
	for _, p := range th.callers() {
		b.WriteString(p.at.name + "(...)\n\t" + p.at.file + ":" + strconv.Itoa(p.at.line) + "\n")
	}
	return b.String()
}

// otherStacks is what runtime.Stack says of the other goroutines of the session:
// what they do, and where they were started. Their calls go on meanwhile.
func (th *thread) otherStacks() string {
	var b strings.Builder
	th.run.engine.threads.each(func(other *thread) {
		if other == th {
			return
		}
		state := "running"
		if d := other.doing.Load(); d != nil {
			state = *d
		}
		b.WriteString("\ngoroutine " + strconv.FormatUint(other.id, 10) + " [" + state + "]:\n")
		if l := other.start; l.Source != nil {
			line := l.Source.Line + strings.Count(l.Source.Text[:min(max(l.Offset, 0), len(l.Source.Text))], "\n")
			b.WriteString("created by a go statement\n\t" + l.Source.Name + ":" + strconv.Itoa(line) + "\n")
		}
	})
	return b.String()
}

func isPointer(t types.Type) bool {
	_, ok := t.Underlying().(*types.Pointer)
	return ok
}
