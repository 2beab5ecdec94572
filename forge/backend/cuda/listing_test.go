package cuda

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the generated kernels to testdata")

// TestList compares the kernels of nests with testdata, and sees that nodes which have
// none are told while the others are listed, and that candidates can be picked.
func TestList(t *testing.T) {
	g := parsed(t, `graph rows(%x: f32[64,100], %w: f32[100,32]) {
  %0: f32[64,100] = exp %x
  %1: f32[64] = sum %0 {axes = [1]}
  %2: f32[64,32] = matmul %0, %w
  return %1, %2
}`)
	l, err := List(g, "sm_80", -1)
	if err != nil {
		t.Fatal(err)
	}
	var nests strings.Builder
	for _, k := range l.Kernels {
		if k.Value != "%2" { // of another package
			nests.WriteString(l.Lines(k) + "\n")
		}
	}
	path := filepath.Join("testdata", "rows.cu")
	if *update {
		if err := os.WriteFile(path, []byte(nests.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if nests.String() != string(want) {
		t.Errorf("the kernels have changed; go test -update writes them, and git diff shows what is new:\n%s", nests.String())
	}
	if got, want := l.Values(), []string{"%0", "%1", "%2"}; !slices.Equal(slices.Sorted(slices.Values(got)), want) {
		t.Errorf("kernels compute %v, want %v", got, want)
	}
	if l.Most < 2 {
		t.Fatalf("the product has %d candidates", l.Most)
	}
	last, err := List(g, "sm_80", l.Most-1)
	if err != nil {
		t.Fatal(err)
	}
	if last.Code == l.Code {
		t.Error("the last candidate is the first")
	}
}
