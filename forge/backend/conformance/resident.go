package conformance

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"forgekernel/forge/backend"
	"forgekernel/forge/ir"
	"forgekernel/forge/op"
	"forgekernel/forge/tensor"
)

// residentProgram updates a cache, reads it, and has a constant.
const residentProgram = `graph resident(%cache: f32[1,1,64,16], %new: f32[1,1,1,16], %pos: i64[1], %x: f32[2,2]) {
  %c: f32[1,1,64,16] = kv_append %cache, %new, %pos
  %s: f32[1,1,16] = sum %c {axes = [2]}
  %w: f32[2,2] = const {value = f32[2,2] 1.0 2.0 3.0 4.0}
  %h: f32[2,2] = matmul %x, %w
  %y: f32[2,2] = tanh %h
  return %y, %c, %s
}`

// RunResident is what all backends promise that keep tensors on a device.
func RunResident(t *testing.T, b backend.Resident) {
	t.Run("resident", func(t *testing.T) { testResident(t, b) })
	t.Run("resident cache", func(t *testing.T) { testResidentCache(t, b) })
	t.Run("resident errors", func(t *testing.T) { testResidentErrors(t, b) })
	t.Run("resident cancel", func(t *testing.T) { testResidentCancel(t, b) })
}

func residentCase(t *testing.T, b backend.Backend) (backend.Bindable, []*tensor.Tensor) {
	t.Helper()
	g, err := ir.Parse(op.Registry, residentProgram)
	if err != nil {
		t.Fatal(err)
	}
	exe, err := b.Compile(t.Context(), g)
	if err != nil {
		t.Fatal(err)
	}
	bindable, ok := exe.(backend.Bindable)
	if !ok {
		t.Fatalf("%T cannot be bound", exe)
	}
	in := zeros(t, g.Inputs)
	for _, i := range []int{0, 1, 3} {
		for k, x := range in[i].Float32() {
			in[i].Float32()[k] = x + 0.25*float32(k%7) - float32(i)/8
		}
	}
	in[2].SetElem(0, 5)
	return bindable, in
}

// hold holds copies of tensors.
func hold(t *testing.T, b backend.Resident, list ...*tensor.Tensor) []backend.Held {
	t.Helper()
	held := make([]backend.Held, len(list))
	for i, x := range list {
		h, err := b.Hold(t.Context(), ir.SpecOf(x))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := errors.Join(h.Close(), h.Close()); err != nil {
				t.Error(err)
			}
		})
		if err := h.Upload(t.Context(), x); err != nil {
			t.Fatal(err)
		}
		held[i] = h
	}
	return held
}

// testResident runs the program with every choice of what is held, the cache apart from
// its update, and compares with a run of tensors of the host.
func testResident(t *testing.T, b backend.Resident) {
	exe, in := residentCase(t, b)
	want, err := exe.Run(t.Context(), in...)
	if err != nil {
		t.Fatal(err)
	}
	heldIn, heldOut := hold(t, b, in...), hold(t, b, zeros(t, exe.Graph().Outputs)...)
	for mask := range 1 << 7 {
		inputs, outputs := make([]backend.Held, 4), make([]backend.Held, 3)
		fromHost, toHost := make([]*tensor.Tensor, 4), zeros(t, exe.Graph().Outputs)
		for i := range inputs {
			if mask>>i&1 == 1 {
				inputs[i] = heldIn[i]
			} else {
				fromHost[i] = in[i]
			}
		}
		for i := range outputs {
			if mask>>(4+i)&1 == 1 {
				outputs[i], toHost[i] = heldOut[i], nil
			}
		}
		t.Run(fmt.Sprintf("%07b", mask), func(t *testing.T) {
			bound, err := exe.Bind(t.Context(), inputs, outputs)
			if err != nil {
				t.Fatal(err)
			}
			for range 2 {
				if err := bound.Run(t.Context(), toHost, fromHost); err != nil {
					t.Fatal(err)
				}
				compareResident(t, want, toHost, outputs)
			}
			if err := errors.Join(bound.Close(), bound.Close()); err != nil {
				t.Error(err)
			}
			if err := bound.Run(t.Context(), toHost, fromHost); err == nil {
				t.Error("a closed binding runs")
			}
		})
	}
	for i, h := range heldIn { // which are only read
		back := in[i].Clone()
		if err := h.Download(t.Context(), back); err != nil || !tensor.Identical(back, in[i]) {
			t.Errorf("input %d was changed: %v", i, err)
		}
	}
}

func compareResident(t *testing.T, want, host []*tensor.Tensor, held []backend.Held) {
	t.Helper()
	for i, w := range want {
		got := host[i]
		if got == nil {
			got = w.Clone()
			for k := range got.Float32() {
				got.Float32()[k] = -1
			}
			if err := held[i].Download(t.Context(), got); err != nil {
				t.Fatal(err)
			}
		}
		if !tensor.Identical(got, w) {
			t.Errorf("output %d is not that of Run", i)
		}
	}
}

// testResidentCache updates a cache where it is, run after run, as two programs that are
// bound to it do in turn.
func testResidentCache(t *testing.T, b backend.Resident) {
	exe, in := residentCase(t, b)
	pool := hold(t, b, in[0])[0]
	var bound [2]backend.Bound
	for i := range bound {
		var err error
		if bound[i], err = exe.Bind(t.Context(), []backend.Held{pool, nil, nil, nil}, []backend.Held{nil, pool, nil}); err != nil {
			t.Fatal(err)
		}
	}
	cache, out := in[0], zeros(t, exe.Graph().Outputs)
	out[1] = nil
	for step := range 8 {
		in[1].SetElem(step, float64(step))
		in[2].SetElem(0, float64(3*step))
		want, err := exe.Run(t.Context(), cache, in[1], in[2], in[3])
		if err != nil {
			t.Fatal(err)
		}
		if err := bound[step%2].Run(t.Context(), out, []*tensor.Tensor{nil, in[1], in[2], in[3]}); err != nil {
			t.Fatal(err)
		}
		compareResident(t, want, out, []backend.Held{nil, pool, nil})
		cache = want[1]
	}
	for _, x := range bound {
		if err := x.Close(); err != nil {
			t.Error(err)
		}
	}
}

func testResidentErrors(t *testing.T, b backend.Resident) {
	exe, in := residentCase(t, b)
	held := hold(t, b, in...)
	none := make([]backend.Held, 3)
	for _, c := range []struct {
		in, out []backend.Held
		want    string
	}{
		{held[:3], none, "resident has 4 inputs, and 3 were bound"},
		{make([]backend.Held, 4), none[:2], "resident has 3 outputs, and 2 were bound"},
		{[]backend.Held{held[3], nil, nil, nil}, none, "resident: input cache is held as f32[2,2], the program was compiled for f32[1,1,64,16]"},
		{held, []backend.Held{held[3], nil, nil}, "resident: y and x are held in the same memory, and the run would write it"},
		{held, []backend.Held{nil, held[0], held[1]}, "output s is held as"},
	} {
		if _, err := exe.Bind(t.Context(), c.in, c.out); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want %s", err, c.want)
		}
	}
	bound, err := exe.Bind(t.Context(), []backend.Held{held[0], nil, nil, nil}, []backend.Held{nil, held[0], nil})
	if err != nil {
		t.Fatal(err)
	}
	out := zeros(t, exe.Graph().Outputs)
	if err := bound.Run(t.Context(), out, in); err == nil || !strings.Contains(err.Error(), "input cache is held on the device, and the run brings another") {
		t.Errorf("error %v", err)
	}
	if err := bound.Run(t.Context(), []*tensor.Tensor{out[0], nil, nil}, []*tensor.Tensor{nil, in[1], in[2], in[3]}); err == nil || !strings.Contains(err.Error(), "output s is missing") {
		t.Errorf("error %v", err)
	}
	if err := held[0].Upload(t.Context(), in[3]); err == nil {
		t.Error("a tensor of another shape was uploaded")
	}
	in[2].SetElem(0, 64)
	if err := bound.Run(t.Context(), []*tensor.Tensor{out[0], nil, out[2]}, []*tensor.Tensor{nil, in[1], in[2], in[3]}); err == nil || !strings.Contains(err.Error(), "kv_append") {
		t.Errorf("a position beyond the cache gives %v", err)
	}
	in[2].SetElem(0, 63)
	if err := bound.Run(t.Context(), []*tensor.Tensor{out[0], nil, out[2]}, []*tensor.Tensor{nil, in[1], in[2], in[3]}); err != nil {
		t.Errorf("after a fault: %v", err)
	}
	if err := bound.Close(); err != nil {
		t.Error(err)
	}
	if _, err := b.Hold(t.Context(), ir.F32(1<<20, 1<<20)); err == nil {
		t.Error("4 TiB were held")
	}
	free, total, err := b.Room(t.Context())
	if err != nil || free <= 0 || free > total {
		t.Errorf("%d of %d bytes are free: %v", free, total, err)
	}
}

// testResidentCancel sees that a run whose context has ended does not begin, and that
// the next one does.
func testResidentCancel(t *testing.T, b backend.Resident) {
	exe, in := residentCase(t, b)
	bound, err := exe.Bind(t.Context(), make([]backend.Held, 4), make([]backend.Held, 3))
	if err != nil {
		t.Fatal(err)
	}
	why := errors.New("no more")
	ended, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	out := zeros(t, exe.Graph().Outputs)
	if err := bound.Run(ended, out, in); !errors.Is(err, why) {
		t.Errorf("error %v, want %v", err, why)
	}
	soon, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	if err := bound.Run(soon, out, in); err != nil {
		t.Error(err)
	}
	if err := bound.Close(); err != nil {
		t.Error(err)
	}
}
