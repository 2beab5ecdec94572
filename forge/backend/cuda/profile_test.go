package cuda

import (
	"slices"
	"testing"
	"time"

	"forgekernel/forge/backend"
	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

// TestProfile sees that an observer is told of each node with the device's time, and
// that results are those of other runs.
func TestProfile(t *testing.T) {
	b := device(t)
	w, err := tensor.Randn(1, 1024, 1024)
	if err != nil {
		t.Fatal(err)
	}
	exe, err := b.Compile(t.Context(), weighted(t, w, 256))
	if err != nil {
		t.Fatal(err)
	}
	x, err := tensor.Randn(2, 256, 1024)
	if err != nil {
		t.Fatal(err)
	}
	want, err := exe.Run(t.Context(), x)
	if err != nil {
		t.Fatal(err)
	}
	var told []string
	var took time.Duration
	ctx := backend.WithObserver(t.Context(), func(n *ir.Node, start, end time.Time) {
		told = append(told, n.Op.Name)
		took += end.Sub(start)
	})
	for range 2 {
		begin := time.Now()
		took = 0
		got, err := exe.Run(ctx, x)
		if err != nil {
			t.Fatal(err)
		}
		if whole := time.Since(begin); took <= 0 || took > whole {
			t.Errorf("the product took %v of %v", took, whole)
		}
		if !tensor.Identical(got[0], want[0]) {
			t.Error("results differ from those of a run without an observer")
		}
	}
	if len(told) < 2 || slices.ContainsFunc(told, func(name string) bool { return name != "matmul" }) {
		t.Errorf("the observer was told of %v", told) // of each kernel of the product
	}
}
