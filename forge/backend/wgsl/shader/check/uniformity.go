package check

import (
	"maps"

	"forgekernel/forge/backend/wgsl/shader/syntax"
)

// Uniformity analysis finds barriers that some invocations of a workgroup may
// miss. It runs over a function once, loops until nothing changes, and carries
// for each value, and for the control flow itself, what it depends on.

// deps is a set of dependencies: on something that differs between
// invocations, on the control flow at the function's call, and on parameters,
// each by its value and by the content of what it points to.
type deps uint64

const (
	differs   deps = 1 << iota
	callFlow       // uniform where the call is reached by all
	firstBits = 2
	maxParams = 31 // those after it are taken to differ
)

func paramValue(i int) deps {
	if i >= maxParams {
		return differs
	}
	return 1 << (firstBits + 2*i)
}

func paramContent(i int) deps {
	if i >= maxParams {
		return differs
	}
	return 2 << (firstBits + 2*i)
}

// demand is a builtin call that some dependency has to be uniform for.
type demand struct {
	on      deps // of one bit
	message string
	pos     syntax.Pos
}

// effect is what a caller has to know of a function.
type effect struct {
	demands []demand
	result  deps
	content map[int]deps // of what pointer parameters point to, at the end
}

// walker goes over one function.
type walker struct {
	f       *Func
	effect  effect
	params  map[*Var]int
	content map[*Var]deps // of function variables, and behind pointer parameters
	lets    map[*Var]deps
	exits   []*exit // of the loops and switches around
	// loops is what was found at the start of each loop's body. It is where the
	// next visit begins, so that nested loops are not gone over again and again.
	loops map[*Stmt]loopStart
}

type loopStart struct {
	flow    deps
	content map[*Var]deps
}

// exit collects what leaves a loop or switch.
type exit struct {
	loop              bool
	broken, continued map[*Var]deps
}

// uniformity analyses a checked function.
func (c *checker) uniformity(f *Func) {
	w := &walker{f: f, params: map[*Var]int{}, content: map[*Var]deps{}, lets: map[*Var]deps{}, loops: map[*Stmt]loopStart{}}
	for i, p := range f.Params {
		w.params[p] = i
		w.lets[p] = paramValue(i)
		if f.Compute {
			w.lets[p] = inputDeps(p)
		}
		if p.Type.Kind == Ptr {
			w.content[p] = paramContent(i)
		}
	}
	flow := callFlow
	if f.Compute {
		flow = 0
	}
	w.block(f.Body.Body, flow)
	w.effect.content = map[int]deps{}
	for p, i := range w.params {
		if p.Type.Kind == Ptr {
			w.effect.content[i] = w.content[p]
		}
	}
	f.effect = w.effect
}

// inputDeps tells whether an entry point's parameter differs.
func inputDeps(p *Var) deps {
	names := []string{p.Builtin}
	for _, f := range p.Type.Fields {
		names = append(names, f.Builtin)
	}
	for _, n := range names {
		if n != "" && n != "workgroup_id" && n != "num_workgroups" {
			return differs
		}
	}
	return 0
}

// need demands that on is uniform: it fails, or leaves the demand to callers.
func (w *walker) need(on deps, message string, pos syntax.Pos) {
	if on&differs != 0 {
		fail(pos, "%s", message)
	}
	for bit := callFlow; on != 0 && bit != 0; bit <<= 1 {
		if on&bit == 0 {
			continue
		}
		on &^= bit
		known := false
		for _, d := range w.effect.demands {
			known = known || d.on == bit
		}
		if !known {
			w.effect.demands = append(w.effect.demands, demand{bit, message, pos})
		}
	}
}

// union adds what other knows to content.
func union(content, other map[*Var]deps) (changed bool) {
	for v, d := range other {
		if content[v]|d != content[v] {
			content[v] |= d
			changed = true
		}
	}
	return changed
}

// block analyses statements in a row; flow is what reaching them depends on.
func (w *walker) block(list []*Stmt, flow deps) (deps, behavior) {
	all := next
	for _, s := range list {
		if all&next == 0 {
			break
		}
		var b behavior
		flow, b = w.statement(s, flow)
		all = all&^next | b
	}
	return flow, all
}

func (w *walker) statement(s *Stmt, flow deps) (deps, behavior) {
	switch s.Op {
	case Block:
		return w.block(s.Body, flow)
	case Declare:
		w.declare(s.Var, flow)
	case Store:
		w.store(s, flow)
	case Eval:
		w.expr(s.X, flow)
	case If:
		return w.branches(s, flow)
	case Switch:
		return w.switchCase(s, flow)
	case Loop:
		return w.loop(s, flow)
	case Break:
		union(w.exits[len(w.exits)-1].broken, w.content)
		return flow, breaks
	case Continue:
		for i := len(w.exits) - 1; ; i-- {
			if w.exits[i].loop {
				union(w.exits[i].continued, w.content)
				return flow, continues
			}
		}
	case Return:
		if s.X != nil {
			w.effect.result |= w.expr(s.X, flow) | flow
		}
		return flow, returns
	}
	return flow, next
}

func (w *walker) declare(v *Var, flow deps) {
	var d deps
	if v.Init != nil {
		d = w.expr(v.Init, flow)
	}
	if v.Keyword == "var" {
		w.content[v] = d | flow
	} else {
		w.lets[v] = d
	}
}

func (w *walker) store(s *Stmt, flow deps) {
	if s.X == nil {
		w.expr(s.Y, flow)
		return
	}
	place := w.expr(s.X, flow)
	d := w.expr(s.Y, flow) | flow | place
	v := root(s.X)
	if _, ok := w.content[v]; !ok {
		return // memory whose content is known to differ, or not to
	}
	if s.X.Op != VarRef && (s.X.Op != Deref || s.X.Args[0].Var != v) {
		d |= w.content[v] // a part of it, or maybe one
	}
	w.content[v] = d
}

// join is the flow after statements that can end as b: where they always come
// to their end, all invocations meet again.
func join(before, after deps, b behavior) deps {
	if b == next {
		return before
	}
	return before | after
}

func (w *walker) branches(s *Stmt, flow deps) (deps, behavior) {
	inner := flow | w.expr(s.X, flow)
	before := maps.Clone(w.content)
	yesFlow, b := w.block(s.Then.Body, inner)
	yes := w.content
	w.content = before
	noFlow, other := inner, next
	if s.Else != nil {
		noFlow, other = w.block(s.Else.Body, inner)
	}
	w.merge(yes, b, other)
	return join(flow, yesFlow|noFlow, b|other), b | other
}

// merge adds the content after another branch to that after this one; a branch
// that does not come to its end counts not.
func (w *walker) merge(other map[*Var]deps, otherEnd, end behavior) {
	switch {
	case otherEnd&next == 0:
	case end&next == 0:
		w.content = other
	default:
		union(w.content, other)
	}
}

func (w *walker) switchCase(s *Stmt, flow deps) (deps, behavior) {
	inner := flow | w.expr(s.X, flow)
	before := w.content
	e := &exit{broken: map[*Var]deps{}}
	w.exits = append(w.exits, e)
	all, after := behavior(0), deps(0)
	for _, k := range s.Cases {
		w.content = maps.Clone(before)
		caseFlow, b := w.block(k.Body.Body, inner)
		after |= caseFlow
		if b&next != 0 {
			union(e.broken, w.content)
		}
		if b&breaks != 0 {
			b = b&^breaks | next
		}
		all |= b
	}
	w.exits = w.exits[:len(w.exits)-1]
	w.content = e.broken
	return join(flow, after, all), all
}

func (w *walker) loop(s *Stmt, flow deps) (deps, behavior) {
	e := &exit{loop: true, broken: map[*Var]deps{}, continued: map[*Var]deps{}}
	w.exits = append(w.exits, e)
	inner, all := flow|w.loops[s].flow, behavior(0)
	start := maps.Clone(w.content)
	union(start, w.loops[s].content)
	for again := true; again; {
		w.content = maps.Clone(start)
		bodyFlow, b := w.block(s.Then.Body, inner)
		all |= b
		if b&next == 0 {
			w.content = map[*Var]deps{}
		}
		union(w.content, e.continued)
		if b&(next|continues) != 0 && s.Continuing != nil {
			bodyFlow, _ = w.block(s.Continuing.Body, bodyFlow)
			if s.Y != nil {
				bodyFlow |= w.expr(s.Y, bodyFlow)
				union(e.broken, w.content)
				all |= breaks
			}
		}
		again = union(start, w.content) || inner|bodyFlow != inner
		inner |= bodyFlow
	}
	w.loops[s] = loopStart{inner, start}
	w.exits = w.exits[:len(w.exits)-1]
	w.content = e.broken
	if all&returns == 0 {
		return flow, next
	}
	if all&breaks == 0 {
		return inner, returns
	}
	return inner, returns | next
}
