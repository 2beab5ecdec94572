package cuda

import (
	"slices"
	"strings"
	"testing"

	"forgekernel/forge/backend"
	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

// counting adds to a number that it is fed, and to a sum that is held.
const counting = `graph counting(%n: i32[1,1], %by: i32[1,1], %sum: f32[1,1,1,4], %pos: i32[1]) {
  %next: i32[1,1] = add %n, %by
  %f: f32[1,1] = cast %next {dtype = "f32"}
  %r: f32[1,1,1,1] = reshape %f {shape = [1,1,1,1]}
  %new: f32[1,1,1,4] = expand %r {shape = [1,1,1,4]}
  %sum1: f32[1,1,1,4] = kv_append %sum, %new, %pos
  %twice: f32[1,1] = add %f, %f
  return %twice, %next, %sum1
}`

// TestChain runs a program behind itself, with what it is fed and with what it is given.
func TestChain(t *testing.T) {
	b := device(t)
	exe, err := b.Compile(t.Context(), parse(t, counting))
	if err != nil {
		t.Fatal(err)
	}
	x := exe.(*Executable)
	sum, err := b.Hold(t.Context(), ir.F32(1, 1, 1, 4))
	if err != nil {
		t.Fatal(err)
	}
	defer sum.Close()
	held := func(n int) []backend.Held { return append(make([]backend.Held, n, 4), sum) }
	chain, err := x.Chain(t.Context(), append(held(2), nil), held(2), []backend.Feed{{Output: 1, Input: 0}})
	if err != nil {
		t.Fatal(err)
	}
	number := func(v int32) *tensor.Tensor {
		x, err := tensor.From([]int{1, 1}, []int32{v})
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	pos, err := tensor.From([]int{1}, []int32{0})
	if err != nil {
		t.Fatal(err)
	}
	start := func(n *tensor.Tensor, by int32) error {
		return chain.Start(t.Context(), []*tensor.Tensor{n, number(by), nil, pos})
	}
	twice, err := tensor.Zeros(tensor.F32, 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	next := number(0)
	wait := func(want int32) {
		t.Helper()
		if err := chain.Wait(t.Context(), []*tensor.Tensor{twice, next, nil}); err != nil {
			t.Fatal(err)
		}
		if got := next.Int32()[0]; got != want || twice.Float32()[0] != float32(2*want) {
			t.Errorf("%d and twice that %v, want %d", got, twice.Float32()[0], want)
		}
	}
	refused := func(err error, want string) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	refused(start(nil, 1), "there is no run before the first")
	refused(chain.Wait(t.Context(), nil), "no run of the chain is under way")
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(start(number(10), 1))
	for i := range int32(50) {
		must(start(nil, i))
		if i == 0 {
			refused(start(nil, 1), "2 runs of the chain are under way")
		}
		wait(11 + i*(i-1)/2)
	}
	refused(start(number(1), 1), "comes from the run that is under way")
	must(chain.Wait(t.Context(), nil))
	must(start(number(-5), 2))
	wait(-3)
	must(start(nil, 3))
	wait(0)
	got, err := tensor.Zeros(tensor.F32, 1, 1, 1, 4)
	must(err)
	must(start(nil, 7))
	must(chain.Close()) // waits for it
	must(chain.Close())
	must(sum.Download(t.Context(), got))
	if !slices.Equal(got.Float32(), []float32{7, 7, 7, 7}) {
		t.Errorf("the last run left %v", got.Float32())
	}
	refused(start(number(1), 1), errClosed.Error())
}
