// Package shader runs compute shaders in WGSL, from their text, on the host.
//
// Parse checks a module as a WebGPU implementation would; Dispatch runs an
// entry point over buffers, workgroup by workgroup. The invocations of a
// workgroup run together: each operation is done for all of them before the
// next, under a mask of those that took the branch, so that the cost of
// interpreting is paid once for a workgroup, not once for an invocation.
//
// A dispatch is also a proof reader. It ends with an *Error that names the
// place in the text, the workgroup and the invocation when an index is out of
// its array's bounds, when two invocations touch one scalar of workgroup or
// storage memory without a barrier between and one of them writes, when not
// all invocations reach a barrier, and when a workgroup takes too long. What
// WGSL defines is done as defined: integers wrap, integer division by zero
// gives the dividend, workgroup memory begins as zeros, f32 arithmetic is that
// of IEEE 754 with every operation rounded by itself.
//
// Of the language it knows all that compute shaders over buffers use; textures,
// samplers, subgroups and the other pipeline stages are refused by name.
package shader

import (
	"context"
	"fmt"
	"math"
	"sort"
	"strconv"
	"sync"
	"unsafe"

	"forgekernel/forge/backend/wgsl/shader/check"
	"forgekernel/forge/backend/wgsl/shader/syntax"
)

// Module is a checked module. It may be dispatched by many goroutines at once.
type Module struct {
	module *check.Module

	mu       sync.Mutex
	programs map[string]*program
}

// Parse reads and checks a module. An error is a *syntax.Error with line and
// column.
func Parse(src string) (*Module, error) {
	tree, err := syntax.Parse(src)
	if err != nil {
		return nil, err
	}
	m, err := check.Check(tree)
	if err != nil {
		return nil, err
	}
	return &Module{module: m, programs: map[string]*program{}}, nil
}

// Binding is the place of a buffer: @group and @binding.
type Binding struct{ Group, Binding uint32 }

// Limits are what a dispatch may use; a zero field has WebGPU's default.
type Limits struct {
	Invocations                              uint32 // of a workgroup: 256
	InvocationsX, InvocationsY, InvocationsZ uint32 // in one dimension: 256, 256, 64
	WorkgroupBytes                           uint32 // of workgroup memory: 16384
	Workgroups                               uint32 // in one dimension: 65535
	StorageBuffers                           uint32 // of an entry point: 8
	UniformBuffers                           uint32 // of an entry point: 12
	StorageBytes                             uint64 // of a binding: 128 MiB
	UniformBytes                             uint64 // of a binding: 64 KiB
	// Work is how many operations the invocations of one workgroup may take
	// together before they are taken to be in an endless loop: 2^32.
	Work int64
}

func (l Limits) defaults() Limits {
	set := func(v *uint32, d uint32) {
		if *v == 0 {
			*v = d
		}
	}
	set(&l.Invocations, 256)
	set(&l.InvocationsX, 256)
	set(&l.InvocationsY, 256)
	set(&l.InvocationsZ, 64)
	set(&l.WorkgroupBytes, 16384)
	set(&l.Workgroups, 65535)
	set(&l.StorageBuffers, 8)
	set(&l.UniformBuffers, 12)
	if l.StorageBytes == 0 {
		l.StorageBytes = 128 << 20
	}
	if l.UniformBytes == 0 {
		l.UniformBytes = 64 << 10
	}
	if l.Work == 0 {
		l.Work = 1 << 32
	}
	return l
}

// Call is one dispatch.
type Call struct {
	Entry  string // may be empty where the module has one entry point
	Groups [3]uint32
	// Bindings are the buffers of the entry point, each of them and no other.
	// Those that the shader may write are changed in place, also by a dispatch
	// that fails.
	Bindings map[Binding][]byte
	// Overrides are by name, or by number for those with @id; truth values are
	// 0 and 1.
	Overrides map[string]float64
	Limits    Limits
}

// Refusal is a call that does not fit its module or a limit.
type Refusal struct{ Message string }

func (e *Refusal) Error() string { return e.Message }

func refuse(format string, args ...any) error { return &Refusal{fmt.Sprintf(format, args...)} }

// catch turns the panics of this package's own errors into errors.
func catch(err *error) {
	switch r := recover().(type) {
	case nil:
	case *Error:
		*err = r
	case *syntax.Error:
		*err = r
	case cancelled:
		*err = r.err
	default:
		panic(r)
	}
}

// Dispatch runs an entry point. It gives an *Error for a fault of the shader, a
// *Refusal for a call that cannot be made, or the context's error.
func (m *Module) Dispatch(ctx context.Context, call Call) (err error) {
	limits := call.Limits.defaults()
	p, err := m.program(call, limits)
	if err != nil {
		return err
	}
	for i, n := range call.Groups {
		if n > limits.Workgroups {
			return refuse("%d workgroups in dimension %d, the limit is %d", n, i, limits.Workgroups)
		}
	}
	buffers, err := p.bind(call.Bindings, limits)
	if err != nil {
		return err
	}
	mc := p.machine()
	mc.ctx, mc.limit, mc.clock, mc.buffers = ctx, limits.Work, clock{groups: call.Groups}, buffers
	defer func() { mc.ctx, mc.buffers = nil, nil; p.machines.Put(mc) }()
	mc.begin()
	defer catch(&err)
	for z := range call.Groups[2] {
		for y := range call.Groups[1] {
			for x := range call.Groups[0] {
				mc.workgroup([3]uint32{x, y, z})
			}
		}
	}
	return nil
}

// program finds or builds the code of a call.
func (m *Module) program(call Call, limits Limits) (*program, error) {
	entry := m.module.Entry(call.Entry)
	if entry == nil {
		return nil, refuse("the module has no entry point '%s' (an empty name stands for the only one)", call.Entry)
	}
	overrides, key, err := m.overrides(call.Overrides)
	if err != nil {
		return nil, err
	}
	key += fmt.Sprint(entry.Name, limits)
	m.mu.Lock()
	defer m.mu.Unlock()
	if p := m.programs[key]; p != nil {
		return p, nil
	}
	p, err := build(m.module, entry, overrides, limits)
	if err != nil {
		return nil, err
	}
	m.programs[key] = p
	return p, nil
}

// overrides gives every override its value, with a key for them all.
func (m *Module) overrides(set map[string]float64) (map[*check.Var][]uint64, string, error) {
	values, key := map[*check.Var][]uint64{}, ""
	known := map[string]bool{}
	for _, v := range m.module.Overrides {
		name := v.Name
		if v.ID >= 0 {
			name = strconv.Itoa(v.ID)
		}
		known[name] = true
		if f, ok := set[name]; ok {
			w, err := overrideWord(v, f)
			if err != nil {
				return nil, "", err
			}
			values[v] = []uint64{w}
		}
	}
	for _, v := range m.module.Overrides {
		if values[v] == nil && v.Init != nil {
			if err := resolve(v, values); err != nil {
				return nil, "", err
			}
		}
		if values[v] != nil {
			key += fmt.Sprintf("%s=%x,", v.Name, values[v][0])
		}
	}
	var unknown []string
	for name := range set {
		if !known[name] {
			unknown = append(unknown, name)
		}
	}
	sort.Strings(unknown)
	if len(unknown) > 0 {
		return nil, "", refuse("the module has no override '%s'", unknown[0])
	}
	return values, key, nil
}

// resolve computes an override's initial value, after those that it names.
func resolve(v *check.Var, values map[*check.Var][]uint64) error {
	var need func(x *check.Expr) error
	need = func(x *check.Expr) error {
		if x.Op == check.Override && values[x.Var] == nil {
			if x.Var.Init == nil {
				return refuse("override '%s' has no value", x.Var.Name)
			}
			return resolve(x.Var, values)
		}
		for _, a := range x.Args {
			if err := need(a); err != nil {
				return err
			}
		}
		return nil
	}
	if err := need(v.Init); err != nil {
		return err
	}
	words, wrong := v.Init.Resolve(values)
	if wrong != "" {
		return syntax.Errorf(v.Init.Pos, "%s", wrong)
	}
	values[v] = words
	return nil
}

func overrideWord(v *check.Var, f float64) (uint64, error) {
	bad := refuse("value %v cannot be represented as '%s' of override '%s'", f, v.Type, v.Name)
	switch v.Type.Kind {
	case check.Bool:
		return uint64(truth(f != 0 && f == f)), nil
	case check.I32, check.U32:
		low, high := float64(math.MinInt32), float64(math.MaxInt32)
		if v.Type.Kind == check.U32 {
			low, high = 0, math.MaxUint32
		}
		if t := math.Trunc(f); t >= low && t <= high {
			return uint64(uint32(int64(t))), nil
		}
		return 0, bad
	}
	if v.Type.Kind == check.F16 {
		f = check.RoundF16(f)
	}
	if math.IsInf(float64(float32(f)), 0) || f != f {
		return 0, bad
	}
	return uint64(word(float32(f))), nil
}

// bind checks the buffers of a call against the entry point's variables.
func (p *program) bind(given map[Binding][]byte, limits Limits) ([]*buffer, error) {
	var list []*buffer
	storage, uniform := uint32(0), uint32(0)
	for _, v := range p.buffers {
		data, ok := given[Binding{v.Group, v.Binding}]
		if !ok {
			return nil, refuse("no buffer for '%s' at @group(%d) @binding(%d)", v.Name, v.Group, v.Binding)
		}
		least, most := leastBytes(v.Type), limits.StorageBytes
		if v.Space == check.Uniform {
			uniform++
			most = limits.UniformBytes
		} else {
			storage++
		}
		if len(data) < least {
			return nil, refuse("the buffer of '%s' has %d bytes, it needs at least %d", v.Name, len(data), least)
		}
		if most = min(most, math.MaxUint32); uint64(len(data)) > most {
			return nil, refuse("the buffer of '%s' has %d bytes, the limit for %s buffers is %d", v.Name, len(data), v.Space, most)
		}
		if v.Space == check.Storage && len(data)%4 != 0 {
			return nil, refuse("the buffer of '%s' has %d bytes, a storage buffer's size is a multiple of 4", v.Name, len(data))
		}
		b := &buffer{name: v.Name, data: data, shift: 2, tracked: v.Access == check.ReadWrite && v.Space == check.Storage}
		if p.hasHalf {
			b.shift = 1
		}
		if b.tracked {
			b.pages = make([]*page, len(data)>>b.shift>>pageBits+1)
		}
		list = append(list, b)
	}
	switch {
	case storage > limits.StorageBuffers:
		return nil, refuse("'%s' uses %d storage buffers, the limit is %d", p.entry.Name, storage, limits.StorageBuffers)
	case uniform > limits.UniformBuffers:
		return nil, refuse("'%s' uses %d uniform buffers, the limit is %d", p.entry.Name, uniform, limits.UniformBuffers)
	case len(given) > len(list):
		return nil, refuse("%d buffers are given, '%s' uses %d", len(given), p.entry.Name, len(list))
	}
	return list, disjoint(list)
}

// disjoint refuses two buffers that share memory where one may be written.
func disjoint(list []*buffer) error {
	for i, a := range list {
		for _, b := range list[:i] {
			if (a.tracked || b.tracked) && overlap(a.data, b.data) {
				return refuse("the buffers of '%s' and '%s' share memory, and the shader may write it", b.name, a.name)
			}
		}
	}
	return nil
}

func overlap(a, b []byte) bool {
	if len(a) == 0 || len(b) == 0 {
		return false
	}
	x, y := uintptr(unsafe.Pointer(&a[0])), uintptr(unsafe.Pointer(&b[0]))
	return x < y+uintptr(len(b)) && y < x+uintptr(len(a))
}

// leastBytes is the smallest buffer for a type: one element of a runtime-sized
// array.
func leastBytes(t *check.Type) int {
	switch {
	case t.Runtime():
		return t.Elem.Size
	case t.Kind == check.Struct:
		if f := t.Fields[len(t.Fields)-1]; f.Type.Runtime() {
			return (f.Offset + f.Type.Elem.Size + t.Align - 1) / t.Align * t.Align
		}
	}
	return t.Size
}

// length is how many elements the runtime-sized array of a buffer has.
func length(t *check.Type, bytes int) uint32 {
	switch {
	case t.Runtime():
		return uint32(bytes / t.Stride())
	case t.Kind == check.Struct:
		if f := t.Fields[len(t.Fields)-1]; f.Type.Runtime() {
			return uint32((bytes - f.Offset) / f.Type.Stride())
		}
	}
	return 0
}

// machine is one that no dispatch uses.
func (p *program) machine() *machine {
	if m, ok := p.machines.Get().(*machine); ok {
		return m
	}
	return &machine{program: p, lanes: p.lanes, regs: make([]uint32, p.words), saved: make([]mask, p.masks),
		identity: make([]int32, p.lanes), shared: make([]uint32, p.sharedWords), tracks: make([]track, p.sharedWords)}
}

// begin sets what is the same for all workgroups.
func (m *machine) begin() {
	p := m.program
	for _, s := range p.presets {
		m.regs[s.reg.off] = s.word
	}
	for lane := range m.identity {
		m.identity[lane] = int32(lane)
		for i, w := range p.local(lane) {
			m.regs[int(p.ids[i].off)+lane] = w
		}
		m.regs[int(p.localIndex.off)+lane] = uint32(lane)
	}
	for i, v := range p.buffers {
		m.regs[p.lengths[i].off] = length(v.Type, len(m.buffers[i].data))
	}
	for i, n := range m.clock.groups {
		m.regs[p.groups[i].off] = n
	}
}

// workgroup runs one workgroup.
func (m *machine) workgroup(id [3]uint32) {
	p := m.program
	m.check()
	m.group, m.work = id, 0
	all := allLanes(m.lanes)
	m.set(&all)
	for i := range 3 {
		m.regs[p.groupID[i].off] = id[i]
		ids, global := m.wide(p.ids[i]), m.wide(p.globalID[i])
		for lane := range global {
			global[lane] = id[i]*p.size[i] + ids[lane]
		}
	}
	clear(m.shared)
	m.barrier()
	m.startStorage()
	p.code.run(m)
}
