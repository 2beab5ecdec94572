package peer

import (
	"context"
	"strings"
	"testing"
)

// TestFits is about which sums have a kernel.
func TestFits(t *testing.T) {
	for _, c := range []struct {
		r    Reduction
		fits bool
	}{
		{Reduction{Ranks: 2, Elements: 1, Length: 1}, true},
		{Reduction{Ranks: 2, Elements: 32 * 64, Length: 64}, true},
		{Reduction{Ranks: 2, Elements: 33 * 64, Length: 64}, false}, // more pieces than blocks
		{Reduction{Ranks: 2, Elements: maxWords, Length: maxWords}, true},
		{Reduction{Ranks: 2, Elements: maxWords + 1, Length: maxWords + 1}, false},
		{Reduction{Ranks: 2, Elements: MaxElements + 1, Length: 4096}, false},
		{Reduction{Ranks: 1, Elements: 4, Length: 4}, false},
		{Reduction{Ranks: MaxRanks + 1, Elements: 4, Length: 4}, false},
		{Reduction{Ranks: 2, Elements: 0, Length: 0}, false},
	} {
		if got := c.r.Fits(); got != c.fits {
			t.Errorf("%+v: %v", c.r, got)
		}
	}
}

// TestDivide sees that what fits at all fits in its pieces.
func TestDivide(t *testing.T) {
	for n, want := range map[int]int{1: 1, 5: 5, 1024: 1024, 4096: 1024, 32769: 1028, MaxElements - 1: 2048, MaxElements: 2048} {
		if r := (Reduction{Ranks: 2, Elements: n}).Divide(); r.Length != want || r.Pieces != 1 || !r.Fits() {
			t.Errorf("%d elements: %+v", n, r)
		}
	}
	for _, c := range []struct {
		elements, line   int
		clusters         bool
		length, in, fits int
	}{
		{4096, 4096, true, 1024, 4, 1}, {4096, 4096, false, 4096, 1, 1}, {8 * 4096, 4096, true, 1024, 4, 1}, {16 * 4096, 4096, true, 2048, 2, 1},
		{8192, 8192, true, 1024, 8, 1}, {2 * 24, 24, true, 24, 1, 1}, {3 * 3072, 3072, true, 1536, 2, 1}, {40 * 64, 64, true, 64, 1, 0},
	} {
		r := Reduction{Ranks: 2, Elements: c.elements}.DivideLines(c.line, c.clusters)
		if r.Length != c.length || r.Pieces != c.in || r.Fits() != (c.fits == 1) {
			t.Errorf("%d elements in lines of %d: %+v", c.elements, c.line, r)
		}
	}
}

// TestKernel looks at how kernels are launched: a block for each piece, whose threads have
// some neighbours each.
func TestKernel(t *testing.T) {
	for _, c := range []struct {
		r               Reduction
		blocks, threads int
		text            string
	}{
		{
			Reduction{Ranks: 2, Elements: 4096, Length: 1024, Pieces: 4, Aligned: true, Adds: true, Norms: true, Eps: 1}, 4, 256,
			"void __cluster_dims__(4, 1, 1) __launch_bounds__(256) k(float *sum, float *normed, const float *x, const float *other, const float *weight, mail *box0, mail *box1, mail *own, unsigned *turns, const unsigned *ended, int rank, int *fault, int step) {\n" +
				"  all_reduce_<2, 256, 1, 4, 4, true, true>(sum, normed, x, other, weight, 1024, 4096, __uint_as_float(0x3f800000u), mailboxes<2>{{box0, box1}, own, turns, ended, rank})",
		},
		{Reduction{Ranks: 2, Elements: 4096, Length: 4096, Pieces: 1}, 1, 1024, "void __launch_bounds__(1024) k(float *sum, const float *x, mail *box0"},
		{Reduction{Ranks: 2, Elements: 4096, Length: 4096, Pieces: 1}, 1, 1024, "all_reduce_<2, 1024, 4, 1, 1, false, false>(sum, 0, x, 0, 0, 4096, 4096,"},
		{Reduction{Ranks: 3, Elements: 8192 * 2, Length: 8192, Pieces: 1, Aligned: true, Adds: true}, 2, 1024, "all_reduce_<3, 1024, 2, 4, 1, true, false>(sum, 0, x, other, 0, 8192, 16384,"},
		{Reduction{Ranks: 2, Elements: 4100, Length: 4096, Pieces: 1, Aligned: true}, 2, 1024, "all_reduce_<2, 1024, 1, 4, 1, false, false>("},
		{Reduction{Ranks: 2, Elements: 7, Length: 7, Pieces: 1, Aligned: true}, 1, 32, "all_reduce_<2, 32, 1, 1, 1, false, false>("},
	} {
		text, blocks, threads := c.r.Kernel("k")
		if blocks != c.blocks || threads != c.threads || !strings.Contains(text, c.text) {
			t.Errorf("%+v: %d blocks of %d threads\n%s", c.r, blocks, threads, text)
		}
	}
}

// TestNew refuses groups that cannot be, before any device is asked.
func TestNew(t *testing.T) {
	for _, c := range [][2]int{{0, 1}, {2, 2}, {-1, 2}, {0, MaxRanks + 1}} {
		if _, _, err := New(context.Background(), nil, c[0], c[1]); err == nil || !strings.Contains(err.Error(), "cannot have mailboxes") {
			t.Errorf("rank %d of %d: %v", c[0], c[1], err)
		}
	}
}

// TestHostID is the same whenever it is asked for.
func TestHostID(t *testing.T) {
	a, err := hostID()
	if err != nil {
		t.Fatal(err)
	}
	if b, err := hostID(); err != nil || a != b || a == [16]byte{} {
		t.Errorf("%x, then %x, %v", a, b, err)
	}
}
