package eval

import (
	"reflect"
	"unsafe"

	"golang.org/x/tools/go/ssa"
)

// appending finds the values of append(list, x, y): the translator puts them
// into an array of their own, whose elements are then copied. Where nothing else
// sees that array, the values go straight to the end of the list.
func (b *builder) appending(call *ssa.Call) {
	bi, ok := call.Call.Value.(*ssa.Builtin)
	if !ok || bi.Name() != "append" {
		return
	}
	slice, ok := call.Call.Args[1].(*ssa.Slice)
	if !ok || slice.Low != nil || slice.High != nil || slice.Max != nil || !isSoleUse(slice, call) {
		return
	}
	array, ok := slice.X.(*ssa.Alloc)
	if !ok || array.Comment != "varargs" || array.Block() != call.Block() {
		return
	}
	var stores []*ssa.Store
	var gone []ssa.Instruction
	for _, use := range realUses(array) {
		if use == ssa.Instruction(slice) {
			continue
		}
		addr, ok := use.(*ssa.IndexAddr)
		if !ok || addr.Block() != call.Block() {
			return
		}
		uses := realUses(addr)
		store, ok := uses[0].(*ssa.Store)
		if !ok || len(uses) > 1 || store.Addr != addr || store.Block() != call.Block() {
			return
		}
		stores = append(stores, store)
		gone = append(gone, addr, store)
	}
	if slice.Block() != call.Block() || len(stores) != b.typ(array.Type(), b.pos).Elem().Len() {
		return
	}
	for _, in := range append(gone, array, slice) {
		b.folded[in] = true
	}
	for _, store := range stores { // in the order of the elements
		b.delayed[store] = call
	}
	b.appended[call] = stores
}

func isSoleUse(v ssa.Value, by ssa.Instruction) bool {
	uses := realUses(v)
	return len(uses) == 1 && uses[0] == by
}

// appendValues appends the values of stores that were folded.
func (b *builder) appendValues(stores []*ssa.Store, list place, d int) {
	elem := list.typ.Elem()
	t, size, s, n := typeWord(elem), elem.Size(), list.i, len(stores)
	values := make([]func(*frame, pointer), n)
	for i, store := range stores {
		values[i] = b.storerOf(store, elem)
	}
	if b.isStoredNumber(stores[0], 1) {
		b.emit(appendAny(t, size, s, d, values))
		return
	}
	if x := b.val(stores[0].Val); n == 1 && isWideNumber(elem) {
		b.emit(func(fr *frame) {
			h := longer(t, fr.l[s])
			*(*uint64)(unsafe.Add(h.data, (h.len-1)*8)) = fr.n[x.i]
			fr.l[d] = h
		})
		return
	} else if n == 1 && x.class == str {
		b.emit(func(fr *frame) {
			h := longer(t, fr.l[s])
			*(*string)(unsafe.Add(h.data, (h.len-1)*16)) = fr.s[x.i]
			fr.l[d] = h
		})
		return
	}
	b.emit(appendAny(t, size, s, d, values))
}

func appendAny(elem pointer, size uintptr, s, d int, values []func(*frame, pointer)) instr {
	return func(fr *frame) {
		h := grown(elem, fr.l[s], len(values))
		p := unsafe.Add(h.data, uintptr(h.len-len(values))*size)
		for i, value := range values {
			value(fr, unsafe.Add(p, uintptr(i)*size))
		}
		fr.l[d] = h
	}
}

// appendTo appends a slice, or a string to bytes.
func (b *builder) appendTo(s, more place, d int) {
	elem, size := typeWord(s.typ.Elem()), s.typ.Elem().Size()
	b.emit(func(fr *frame) {
		added := header{}
		if more.class == str {
			text := fr.s[more.i]
			added = header{pointer(unsafe.StringData(text)), len(text), len(text)}
		} else {
			added = fr.l[more.i]
		}
		h := fr.l[s.i]
		if added.len > 0 {
			n := h.len
			h = grown(elem, h, added.len)
			reflectCopy(elem, header{unsafe.Add(h.data, uintptr(n)*size), added.len, added.len}, added)
		}
		fr.l[d] = h
	})
}

// longer is grown by one.
func longer(elem pointer, h header) header {
	if h.len >= h.cap {
		return grown(elem, h, 1)
	}
	h.len++
	return h
}

// grown makes a slice longer by n elements.
func grown(elem pointer, h header, n int) header {
	if uint(h.len+n) > uint(h.cap) || h.data == nil {
		h = reflectGrow(elem, h, n)
	}
	h.len += n
	return h
}

// sliceValue is the value of a slice.
func sliceValue(t reflect.Type, h header) reflect.Value { return held(t, pointer(&h)) }
