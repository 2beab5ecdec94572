package collective

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"forgekernel/forge/backend"
	"forgekernel/forge/tensor"
)

var dtypes = []tensor.DType{tensor.F32, tensor.F64, tensor.F16, tensor.BF16, tensor.I64, tensor.I32, tensor.Bool}

// sample is a tensor of a rank, the same for the same arguments.
func sample(dtype tensor.DType, n int, seed, rank uint64) *tensor.Tensor {
	r := rand.New(rand.NewPCG(seed, rank))
	t, err := tensor.Zeros(dtype, n)
	if err != nil {
		panic(err)
	}
	for i := range n {
		switch dtype {
		case tensor.I64, tensor.I32:
			t.SetElem(i, float64(r.IntN(1<<20)-1<<19))
		case tensor.Bool:
			t.SetElem(i, float64(r.IntN(2)))
		default:
			t.SetElem(i, r.NormFloat64())
		}
	}
	return t
}

// reduced is the reference: all ranks in order, rounded as the package says.
func reduced(how backend.Reduction, all []*tensor.Tensor) *tensor.Tensor {
	out := all[0].Clone()
	for i := range out.Len() {
		v := all[0].Elem(i)
		for _, t := range all[1:] {
			switch x := t.Elem(i); {
			case how == backend.Max:
				v = max(v, x)
			case t.DType() == tensor.F64 || t.DType() == tensor.I64 || t.DType() == tensor.I32:
				v += x
			case t.DType() == tensor.Bool:
				v = max(v, x)
			default:
				v = float64(float32(v) + float32(x))
			}
		}
		out.SetElem(i, v)
	}
	return out
}

func samples(dtype tensor.DType, n, ranks int, seed uint64) []*tensor.Tensor {
	all := make([]*tensor.Tensor, ranks)
	for r := range all {
		all[r] = sample(dtype, n, seed, uint64(r))
	}
	return all
}

// joined is the tensors one after another.
func joined(all []*tensor.Tensor) *tensor.Tensor {
	n := all[0].Len()
	out, err := tensor.Zeros(all[0].DType(), n*len(all))
	if err != nil {
		panic(err)
	}
	for i, t := range all {
		for k := range n {
			out.SetElem(i*n+k, t.Elem(k))
		}
	}
	return out
}

func same(what string, got, want *tensor.Tensor) error {
	if !tensor.Identical(got, want) {
		for i := range got.Len() {
			if g, w := got.Elem(i), want.Elem(i); math.Float64bits(g) != math.Float64bits(w) {
				return fmt.Errorf("%s %v[%d]: element %d is %v, want %v", what, got.DType(), got.Len(), i, g, w)
			}
		}
	}
	return nil
}

// conform makes every call once with tensors of n elements and compares the
// results with the reference.
func conform(g Group, dtype tensor.DType, n int, seed uint64) error {
	ctx := context.Background()
	ranks, me := g.Size(), g.Rank()
	all := samples(dtype, n, ranks, seed)
	for _, how := range []backend.Reduction{backend.Sum, backend.Max} {
		want := reduced(how, all)
		got := all[me].Clone()
		if err := g.AllReduce(ctx, how, got); err != nil {
			return err
		}
		if err := same("all_reduce "+how.String(), got, want); err != nil {
			return err
		}
		wide := samples(dtype, n*ranks, ranks, seed+1)
		sum := reduced(how, wide)
		mine, err := sum.Window(me*n, n)
		if err != nil {
			return err
		}
		got = sample(dtype, n, 0, 0)
		if err := g.ReduceScatter(ctx, how, got, wide[me]); err != nil {
			return err
		}
		if err := same("reduce_scatter "+how.String(), got, mine); err != nil {
			return err
		}
	}
	want := joined(all)
	got := sample(dtype, n*ranks, 0, 0)
	if err := g.AllGather(ctx, got, all[me]); err != nil {
		return err
	}
	if err := same("all_gather", got, want); err != nil {
		return err
	}
	for root := range ranks {
		got := all[me].Clone()
		if err := g.Broadcast(ctx, root, got); err != nil {
			return err
		}
		if err := same("broadcast", got, all[root]); err != nil {
			return err
		}
	}
	if ranks > 1 { // around a circle, everyone sending first where it fits
		next, before := (me+1)%ranks, (me+ranks-1)%ranks
		got := sample(dtype, n, 0, 0)
		send := func() error { return g.Send(ctx, next, all[me]) }
		receive := func() error { return g.Recv(ctx, before, got) }
		first, second := send, receive
		if me == 0 && got.Bytes() > leastBuffer/2 {
			first, second = receive, send
		}
		if err := first(); err != nil {
			return err
		}
		if err := second(); err != nil {
			return err
		}
		if err := same("recv", got, all[before]); err != nil {
			return err
		}
	}
	return g.Barrier(ctx)
}

func TestConformance(t *testing.T) {
	sizes, counts := []int{0, 1, 3, 15, 16, 17, 255, 4096, 20_011}, []int{1, 2, 3, 4}
	if testing.Short() {
		sizes, counts = []int{0, 1, 17, 9001}, []int{2, 3}
	}
	everywhere(t, func(t *testing.T, make func(int, Options) []Group) {
		for _, ranks := range counts {
			groups := make(ranks, Options{})
			for _, dtype := range dtypes {
				for _, n := range sizes {
					if n > 5000 && dtype != tensor.F32 && dtype != tensor.F16 {
						continue // the reference takes long, and what differs is in smaller ones
					}
					must(t, groups, func(g Group) error { return conform(g, dtype, n, uint64(n)) })
				}
			}
		}
	})
}

// A tensor of several MiB is many times what a ring holds.
func TestLargeTensors(t *testing.T) {
	everywhere(t, func(t *testing.T, make func(int, Options) []Group) {
		n := 1<<20 + 7
		if testing.Short() {
			n = 1<<18 + 7
		}
		for _, ranks := range []int{2, 3} {
			groups := make(ranks, Options{Buffer: leastBuffer})
			must(t, groups, func(g Group) error { return large(g, n) })
		}
	})
}

// large compares sums of small integers, whose reference is quick.
func large(g Group, n int) error {
	x := one(tensor.F32, n)
	for i := range x.Float32() {
		x.Float32()[i] = float32((i + g.Rank()) % 1000)
	}
	all := one(tensor.F32, n*g.Size())
	if err := errors.Join(g.AllGather(context.Background(), all, x), g.AllReduce(context.Background(), backend.Sum, x)); err != nil {
		return err
	}
	for i, v := range x.Float32() {
		sum := 0
		for r := range g.Size() {
			value := (i + r) % 1000
			if got := all.Float32()[r*n+i]; got != float32(value) {
				return fmt.Errorf("element %d of rank %d is gathered as %v, want %d", i, r, got, value)
			}
			sum += value
		}
		if v != float32(sum) {
			return fmt.Errorf("the sum of elements %d is %v, want %d", i, v, sum)
		}
	}
	return nil
}

func TestSpecialValues(t *testing.T) {
	everywhere(t, func(t *testing.T, make func(int, Options) []Group) {
		groups := make(3, Options{})
		for _, dtype := range []tensor.DType{tensor.F32, tensor.F64, tensor.F16, tensor.BF16} {
			for at := range 20 { // in a vector, and in the rest after it
				must(t, groups, func(g Group) error {
					x, err := tensor.Full(dtype, float64(g.Rank()), 20)
					if err != nil {
						return err
					}
					if g.Rank() == 1 {
						x.SetElem(at, math.NaN())
					}
					if err := g.AllReduce(t.Context(), backend.Max, x); err != nil {
						return err
					}
					if !math.IsNaN(x.Elem(at)) || x.Elem((at+1)%20) != 2 {
						return fmt.Errorf("%v: max with NaN at %d is %v", dtype, at, x)
					}
					return nil
				})
			}
		}
		must(t, groups, func(g Group) error { // 2048 + 1 is 2048 in f16, but not on the way
			x := tensor.Scalar(tensor.F16, []float64{2048, 1, 1}[g.Rank()])
			if err := g.AllReduce(t.Context(), backend.Sum, x); err != nil {
				return err
			}
			if x.Item() != 2050 {
				return fmt.Errorf("2048 + 1 + 1 is %v in f16, want 2050", x.Item())
			}
			return nil
		})
		must(t, groups, func(g Group) error { // integers wrap around and are exact
			x, err := tensor.From([]int{1}, []int64{math.MaxInt64 - int64(g.Rank())})
			if err != nil {
				return err
			}
			if err := g.AllReduce(t.Context(), backend.Sum, x); err != nil {
				return err
			}
			if got := x.Int64()[0]; got != math.MaxInt64-5 { // 3 (2^63 - 1) - 3
				return fmt.Errorf("the sum is %d", got)
			}
			return nil
		})
	})
}

func TestSubGroups(t *testing.T) {
	everywhere(t, func(t *testing.T, make func(int, Options) []Group) {
		must(t, make(4, Options{}), func(g Group) error {
			stage := g.Rank() / 2
			tp, err := g.Sub("tp", []int{2 * stage, 2*stage + 1})
			if err != nil {
				return err
			}
			defer tp.Close()
			pp, err := g.Sub("pp", []int{g.Rank()%2 + 2, g.Rank() % 2}) // backwards
			if err != nil {
				return err
			}
			defer pp.Close()
			if tp.Rank() != g.Rank()%2 || pp.Rank() != 1-stage || tp.Name() != "world/tp" {
				return fmt.Errorf("rank %d is %d in %s and %d in %s", g.Rank(), tp.Rank(), tp.Name(), pp.Rank(), pp.Name())
			}
			if _, err := g.Sub("tp", []int{2 * stage, 2*stage + 1}); err == nil {
				return fmt.Errorf("two groups of one name")
			}
			for i := range 20 {
				for _, s := range []Group{tp, g, pp} {
					if err := conform(s, tensor.F32, 100*i, uint64(i)); err != nil {
						return err
					}
				}
			}
			return g.Barrier(context.Background())
		})
	})
}

func TestSubRefusesRanks(t *testing.T) {
	g := closing(t, Local(3, Options{}))[1]
	for _, c := range []struct {
		name  string
		ranks []int
		want  string
	}{
		{"tp", []int{0, 3, 1}, "group world/tp: there is no rank 3 in group world of 3 ranks"},
		{"tp", []int{1, -1}, "group world/tp: there is no rank -1 in group world of 3 ranks"},
		{"tp", []int{1, 1}, "group world/tp: rank 1 is named twice"},
		{"tp", []int{0, 2}, "group world/tp: this rank, 1, is not in it"},
		{"tp", nil, "group world/tp: this rank, 1, is not in it"},
		{"a/b", []int{1}, `group world: "a/b" cannot be the name of a group in it`},
		{"", []int{1}, `group world: "" cannot be the name of a group in it`},
	} {
		if _, err := g.Sub(c.name, c.ranks); err == nil || err.Error() != c.want {
			t.Errorf("Sub(%q, %v) gives %v, want %s", c.name, c.ranks, err, c.want)
		}
	}
}

func TestArguments(t *testing.T) {
	g := closing(t, Local(2, Options{}))[0]
	ctx := context.Background()
	x, y := sample(tensor.F32, 4, 1, 1), sample(tensor.F32, 9, 1, 1)
	for name, c := range map[string]struct {
		err  error
		want string
	}{
		"gather":  {g.AllGather(ctx, y, x), "all_gather among 2 ranks: f32[9] is not 2 times f32[4]"},
		"scatter": {g.ReduceScatter(ctx, backend.Sum, y, x), "reduce_scatter among 2 ranks: f32[4] is not 2 times f32[9]"},
		"root":    {g.Broadcast(ctx, 2, x), "broadcast: there is no rank 2 in a group of 2"},
		"peer":    {g.Send(ctx, -1, x), "rank 0 cannot send to rank -1 of a group of 2"},
		"self":    {g.Recv(ctx, 0, x), "rank 0 cannot receive from itself"},
	} {
		if c.err == nil || c.err.Error() != c.want {
			t.Errorf("%s: %v, want %s", name, c.err, c.want)
		}
	}
}

// A send does not wait for the receiver while the ring has room.
func TestSendRunsAhead(t *testing.T) {
	everywhere(t, func(t *testing.T, make func(int, Options) []Group) {
		groups := make(2, Options{Buffer: 256 << 10})
		const messages, n = 10, 4096 // 160 KiB
		for i := range messages {
			if err := groups[0].Send(t.Context(), 1, sample(tensor.F32, n, uint64(i), 0)); err != nil {
				t.Fatal(err)
			}
		}
		for i := range messages {
			got := sample(tensor.F32, n, 99, 99)
			if err := groups[1].Recv(t.Context(), 0, got); err != nil {
				t.Fatal(err)
			}
			if err := same("recv", got, sample(tensor.F32, n, uint64(i), 0)); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// Random programs, in which ranks make random calls in groups of random members,
// against the reference.
func TestRandomPrograms(t *testing.T) {
	everywhere(t, func(t *testing.T, make func(int, Options) []Group) {
		seeds := uint64(6)
		if testing.Short() {
			seeds = 2
		}
		for seed := range seeds {
			ranks := 2 + int(seed%3)
			groups := make(ranks, Options{Buffer: leastBuffer})
			must(t, groups, func(g Group) error {
				plan := rand.New(rand.NewPCG(seed, 1)) // the same on all ranks
				for i := range 60 {
					members := plan.Perm(ranks)[:1+plan.IntN(ranks)]
					dtype, n := dtypes[plan.IntN(len(dtypes))], plan.IntN(1<<plan.IntN(15))
					in := false
					for _, m := range members {
						in = in || m == g.Rank()
					}
					s := g
					if i%4 == 0 && in {
						var err error
						if s, err = g.Sub(fmt.Sprint("s", i), members); err != nil {
							return err
						}
						defer s.Close()
					} else if i%4 == 0 {
						continue
					}
					if err := conform(s, dtype, n, seed+uint64(i)); err != nil {
						return fmt.Errorf("call %d: %w", i, err)
					}
				}
				return g.Barrier(context.Background())
			})
		}
	})
}
