package weights

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"forgekernel/forge/tensor"
)

// every is a tensor of each element type and of odd shapes.
func every(t *testing.T) []tensor.Named {
	var all []tensor.Named
	shapes := [][]int{{}, {3}, {2, 3}, {0, 4}, {1, 1, 5}, {7}, {2, 2}}
	for i, d := range []tensor.DType{tensor.Bool, tensor.BF16, tensor.F32, tensor.F16, tensor.I32, tensor.F64, tensor.I64} {
		x, err := tensor.Zeros(d, shapes[i]...)
		if err != nil {
			t.Fatal(err)
		}
		for k := range x.Len() {
			x.SetElem(k, float64(k%2)-0.5*float64(k%3))
		}
		all = append(all, tensor.Named{Name: d.String() + ` "ä"`, Tensor: x})
	}
	return all
}

func TestWriteSafetensors(t *testing.T) {
	want := every(t)
	var b bytes.Buffer
	if err := WriteSafetensors(&b, want); err != nil {
		t.Fatal(err)
	}
	f, err := Open(write(t, "x", b.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if len(f.Weights()) != len(want) {
		t.Fatalf("%d weights of %d", len(f.Weights()), len(want))
	}
	for _, n := range want {
		w, err := f.Weight(n.Name)
		if err != nil {
			t.Fatal(err)
		}
		got, err := w.Load(w.DType())
		if err != nil || !tensor.SameBits(got, n.Tensor) {
			t.Errorf("%s: %v, %v; want %v", n.Name, got, err, n.Tensor)
		}
	}
}

// full takes so many bytes and then fails, as a full disk does.
type full struct{ left int }

func (w *full) Write(b []byte) (int, error) {
	if w.left -= len(b); w.left < 0 {
		return 0, errFull
	}
	return len(b), nil
}

var errFull = errors.New("no space left")

func TestWriteSafetensorsFails(t *testing.T) {
	all := every(t)
	var b bytes.Buffer
	if err := WriteSafetensors(&b, all); err != nil {
		t.Fatal(err)
	}
	for room := 0; room < b.Len(); room += 8 {
		if err := WriteSafetensors(&full{room}, all); !errors.Is(err, errFull) {
			t.Errorf("room for %d bytes of %d: %v", room, b.Len(), err)
		}
	}
	for _, bad := range [][]tensor.Named{slices.Concat(all, all[:1]), {{Name: "__metadata__", Tensor: all[0].Tensor}}} {
		if err := WriteSafetensors(&b, bad); err == nil {
			t.Error("a name that a file cannot hold was written")
		}
	}
}
