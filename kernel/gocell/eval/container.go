package eval

import (
	"go/types"
	"reflect"
	"unicode/utf8"

	"golang.org/x/tools/go/ssa"
)

func (b *builder) makeContainer(in ssa.Value) {
	dst := b.places[in]
	size := func(v ssa.Value) func(*frame) int {
		if v == nil {
			return func(*frame) int { return 0 }
		}
		i := b.val(v).i
		return func(fr *frame) int { return int(fr.n[i]) }
	}
	switch in := in.(type) {
	case *ssa.MakeMap:
		n := size(in.Reserve)
		b.emit(func(fr *frame) {
			fr.p[dst.i] = word(reflect.MakeMapWithSize(dst.typ, min(max(n(fr), 0), maxReserve)))
		})
	case *ssa.MakeChan:
		n := size(in.Size)
		both := reflect.ChanOf(reflect.BothDir, dst.typ.Elem())
		b.emit(func(fr *frame) {
			count := n(fr)
			if count < 0 || count > maxElements(dst.typ.Elem()) {
				panic(plainError("makechan: size out of range"))
			}
			checkRoom(count, dst.typ.Elem())
			fr.p[dst.i] = word(reflect.MakeChan(both, count))
		})
	case *ssa.MakeSlice:
		n, c := size(in.Len), size(in.Cap)
		elem := typeWord(dst.typ.Elem())
		b.emit(func(fr *frame) {
			length, capacity := n(fr), c(fr)
			most := maxElements(dst.typ.Elem())
			if length < 0 || length > most {
				panic(goError("makeslice: len out of range"))
			}
			if capacity < length || capacity > most {
				panic(goError("makeslice: cap out of range"))
			}
			checkRoom(capacity, dst.typ.Elem())
			fr.l[dst.i] = header{newArray(elem, capacity), length, capacity}
		})
	}
}

const maxReserve = 1 << 24 // a larger hint saves nothing

// plainError is a panic of the runtime whose text has no prefix.
type plainError string

func (e plainError) Error() string { return string(e) }
func (plainError) RuntimeError()   {}

func (b *builder) lookup(in *ssa.Lookup) {
	m, key := b.val(in.X), b.val(in.Index)
	elem, i, k := m.typ.Elem(), m.i, key.i
	if !in.CommaOk {
		dst := b.places[in]
		d := dst.i
		switch {
		case isWideInteger(m.typ.Key()) && isWideNumber(elem):
			b.emit(func(fr *frame) { fr.n[d] = numbersOf(fr.p[i])[fr.n[k]] })
			return
		case key.class == str && isWideNumber(elem):
			b.emit(func(fr *frame) { fr.n[d] = namedNumbersOf(fr.p[i])[fr.s[k]] })
			return
		}
		find, read := finder(in, m, key), b.loader(dst)
		b.emit(func(fr *frame) {
			if p := find(fr); p != nil {
				read(fr, p)
			} else {
				fr.zero(dst)
			}
		})
		return
	}
	dst, ok := b.tuples[in][0], b.tuples[in][1]
	find, read := finder(in, m, key), b.loader(dst)
	b.emit(func(fr *frame) {
		p := find(fr)
		fr.n[ok.i] = truth(p != nil)
		if p != nil {
			read(fr, p)
		} else {
			fr.zero(dst)
		}
	})
}

// isUpdated reports the lookup of m[k] op= x, which the assignment shares its
// place with. Constant keys never fail.
func isUpdated(in *ssa.Lookup) bool {
	if in.Index.Referrers() == nil || !in.Pos().IsValid() {
		return false
	}
	for _, user := range *in.Index.Referrers() {
		if up, ok := user.(*ssa.MapUpdate); ok && up.Pos() == in.Pos() && up.Map == in.X && up.Key == in.Index {
			return true
		}
	}
	return false
}

func (b *builder) mapUpdate(in *ssa.MapUpdate) {
	m, key, value := b.val(in.Map), b.val(in.Key), b.val(in.Value)
	keyType, elem := m.typ.Key(), m.typ.Elem()
	i, k, v, t := m.i, key.i, value.i, typeWord(m.typ)
	switch {
	case isWideInteger(keyType) && isWideNumber(elem):
		b.emit(func(fr *frame) { numbersOf(fr.p[i])[fr.n[k]] = fr.n[v] })
		return
	case key.class == str && isWideNumber(elem):
		b.emit(func(fr *frame) { namedNumbersOf(fr.p[i])[fr.s[k]] = fr.n[v] })
		return
	}
	element := addressOf(value, elem)
	if key.class == str && elem.Size() <= maxFastElem {
		b.emit(func(fr *frame) { mapAssignString(t, fr.p[i], fr.s[k], element(fr)) })
		return
	}
	address := keyAddress(m, key)
	b.emit(func(fr *frame) { mapAssign(t, fr.p[i], address(fr), element(fr)) })
}

// characters walks a string, as a reflect.MapIter does a map.
type characters struct {
	text string
	at   int
}

func (b *builder) rangeOver(in *ssa.Range) {
	x, dst := b.val(in.X), b.places[in]
	if _, isMap := in.X.Type().Underlying().(*types.Map); isMap {
		b.emit(func(fr *frame) { fr.p[dst.i] = pointer(fr.get(x).MapRange()) })
		return
	}
	b.emit(func(fr *frame) { fr.p[dst.i] = pointer(&characters{text: fr.s[x.i]}) })
}

func (b *builder) next(in *ssa.Next) {
	ok, advance := b.tuples[in][0].i, b.advance(in)
	b.emit(func(fr *frame) { fr.n[ok] = truth(advance(fr)) })
}

// decidesAlone reports whether the outcome of an iteration only decides the branch at the
// end of its block, which then does both.
func decidesAlone(in *ssa.Next, at int, blk *ssa.BasicBlock) bool {
	for _, later := range blk.Instrs[at+1:] {
		switch later := later.(type) {
		case *ssa.DebugRef:
		case *ssa.Extract:
			uses := realUses(later)
			if later.Tuple == in && later.Index == 0 && len(uses) == 1 && uses[0] == blk.Instrs[len(blk.Instrs)-1] {
				continue
			}
			if later.Tuple != in || later.Index == 0 {
				return false
			}
		case *ssa.If:
			ok, _ := later.Cond.(*ssa.Extract)
			return ok != nil && ok.Tuple == in && ok.Index == 0
		default:
			return false
		}
	}
	return false
}

// advance returns what goes on to the next entry or character, if there is one.
func (b *builder) advance(in *ssa.Next) condition {
	it, dst := b.val(in.Iter).i, b.tuples[in]
	key, value := dst[1], dst[2]
	if in.IsString {
		return func(fr *frame) bool {
			s := (*characters)(fr.p[it])
			if s.at >= len(s.text) {
				return false
			}
			r, size := rune(s.text[s.at]), 1
			if r >= utf8.RuneSelf {
				r, size = utf8.DecodeRuneInString(s.text[s.at:])
			}
			fr.n[key.i], fr.n[value.i] = uint64(s.at), uint64(r)
			s.at += size
			return true
		}
	}
	tuple := in.Type().(*types.Tuple)
	wanted := func(i int) bool { return tupleType(tuple.At(i).Type()) == tuple.At(i).Type() }
	wantKey, wantValue := wanted(1), wanted(2)
	readKey, readValue := b.loader(key), b.loader(value)
	wide := wantValue && isWideNumber(value.typ)
	return func(fr *frame) bool {
		m := (*reflect.MapIter)(fr.p[it])
		if !m.Next() {
			return false
		}
		e := (*entry)(pointer(m))
		if wantKey {
			readKey(fr, e.key)
		}
		if wide {
			fr.n[value.i] = *(*uint64)(e.elem)
		} else if wantValue {
			readValue(fr, e.elem)
		}
		return true
	}
}
