package eval

import (
	"go/types"
	"reflect"

	"golang.org/x/tools/go/ssa"
)

var (
	receiving = "a channel receive"
	sending   = "a channel send"
	selecting = "a select statement"
)

// await waits for one of several channel operations, or for an interrupt.
func (th *thread) await(what *string, cases []reflect.SelectCase) (int, reflect.Value, bool) {
	th.hears.Store(true)
	th.blocking(what)
	stop := reflect.SelectCase{Dir: reflect.SelectRecv, Chan: reflect.ValueOf(th.run.ctx.Done())}
	if !th.deadline.IsZero() {
		stop.Chan = reflect.Value{} // a deferred call of an interrupted cell may still wait
		th.poll()
	}
	i, v, ok := reflect.Select(append(cases, stop))
	if i == len(cases) {
		th.poll()
	}
	th.hears.Store(false)
	th.resume()
	return i, v, ok
}

func (th *thread) receive(ch reflect.Value) (reflect.Value, bool) {
	if v, ok := ch.TryRecv(); v.IsValid() {
		return v, ok
	}
	_, v, ok := th.await(&receiving, []reflect.SelectCase{{Dir: reflect.SelectRecv, Chan: ch}})
	return v, ok
}

func (b *builder) receive(in *ssa.UnOp) {
	ch := b.val(in.X)
	// A receive-only view of the channel lets reflection receive from any.
	if in.CommaOk {
		dst, ok := b.tuples[in][0], b.tuples[in][1]
		b.emit(func(fr *frame) {
			v, got := fr.th.receive(fr.get(ch))
			fr.set(dst, v)
			fr.n[ok.i] = truth(got)
		})
		return
	}
	dst := b.places[in]
	b.emit(func(fr *frame) {
		v, _ := fr.th.receive(fr.get(ch))
		fr.set(dst, v)
	})
}

func (b *builder) send(in *ssa.Send) {
	ch, x := b.val(in.Chan), b.val(in.X)
	elem := ch.typ.Elem()
	b.emit(func(fr *frame) {
		c, v := fr.get(ch), static(elem, fr.get(x))
		if c.TrySend(v) {
			return
		}
		fr.th.await(&sending, []reflect.SelectCase{{Dir: reflect.SelectSend, Chan: c, Send: v}})
	})
}

func (b *builder) selectStmt(in *ssa.Select) {
	type state struct {
		dir      reflect.SelectDir
		ch, send place
		result   int // index in the tuple
	}
	var states []state
	result := 2
	for _, s := range in.States {
		st := state{dir: reflect.SelectSend, ch: b.val(s.Chan)}
		if s.Dir == types.RecvOnly {
			st.dir, st.result = reflect.SelectRecv, result
			result++
		} else {
			st.send = b.val(s.Send)
		}
		states = append(states, st)
	}
	dst, blocking := b.tuples[in], in.Blocking
	b.emit(func(fr *frame) {
		cases := make([]reflect.SelectCase, len(states), len(states)+1)
		for i, s := range states {
			cases[i] = reflect.SelectCase{Dir: s.dir, Chan: fr.get(s.ch)}
			if s.dir == reflect.SelectSend {
				cases[i].Send = static(s.ch.typ.Elem(), fr.get(s.send))
			} else {
				fr.zero(dst[s.result])
			}
		}
		var i int
		var v reflect.Value
		var ok bool
		if blocking {
			i, v, ok = fr.th.await(&selecting, cases)
		} else {
			i, v, ok = reflect.Select(append(cases, reflect.SelectCase{Dir: reflect.SelectDefault}))
			if i == len(states) {
				i = -1
			}
		}
		fr.n[dst[0].i], fr.n[dst[1].i] = uint64(i), 0
		if i >= 0 && states[i].dir == reflect.SelectRecv {
			fr.n[dst[1].i] = truth(ok)
			fr.set(dst[states[i].result], v)
		}
	})
}
