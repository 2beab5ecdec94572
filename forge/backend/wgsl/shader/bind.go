package shader

import (
	"math"
	"unsafe"

	"forgekernel/forge/backend/wgsl/shader/check"
)

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
