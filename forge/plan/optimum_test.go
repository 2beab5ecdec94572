package plan

import (
	"math"
	"testing"
)

// fewest tries every order of the kernels, and returns the least that is live at
// the worst step.
func fewest(a *analysis, opts Options) int64 {
	n := len(a.kernels)
	best := int64(math.MaxInt64)
	order := make([]int, 0, n)
	waiting := make([]int, n)
	for k := range a.kernels {
		waiting[k] = len(a.kernels[k].after)
	}
	used := make([]bool, n)
	var visit func()
	visit = func() {
		if len(order) == n {
			best = min(best, a.liveness(order, opts).peak)
			return
		}
		for k := range n {
			if used[k] || waiting[k] > 0 {
				continue
			}
			used[k], order = true, append(order, k)
			for _, next := range a.kernels[k].before {
				waiting[next]--
			}
			visit()
			for _, next := range a.kernels[k].before {
				waiting[next]++
			}
			used[k], order = false, order[:len(order)-1]
		}
	}
	visit()
	return best
}

// tightest tries every way to put buffers into slots with one tenant at a time,
// and returns the fewest bytes.
func tightest(buffers []buffer) int64 {
	best := int64(math.MaxInt64)
	var slots [][]int
	var visit func(i int)
	visit = func(i int) {
		if i == len(buffers) {
			var total int64
			for _, tenants := range slots {
				var size int64
				for _, t := range tenants {
					size = max(size, buffers[t].bytes)
				}
				total += size
			}
			best = min(best, total)
			return
		}
		for s := range slots {
			if b := buffers[slots[s][0]]; b.kind != buffers[i].kind {
				continue
			}
			if at, ok := gapFor(buffers, slots[s], buffers[i]); ok && at == len(slots[s]) {
				slots[s] = append(slots[s], i)
				visit(i + 1)
				slots[s] = slots[s][:len(slots[s])-1]
			}
		}
		slots = append(slots, []int{i})
		visit(i + 1)
		slots = slots[:len(slots)-1]
	}
	visit(0)
	return best
}

// On graphs small enough to try everything, the search through all orders finds
// the optimum, the bound that looks at paths is never above it, and orders and
// slots are never below it. How often they reach it is pinned, so that a change
// for the worse is noticed.
func TestAgainstOptimum(t *testing.T) {
	var plans, bounds, orders, packings, slots, whole, oneType int
	worst := 1.0
	for seed := uint64(0); plans < 800; seed++ {
		g := randomGraph(seed, 6+int(seed%5))
		a, err := analyse(g, nil)
		if err != nil {
			t.Fatal(err)
		}
		if len(a.kernels) > 8 || len(a.kernels) < 3 {
			continue
		}
		for _, opts := range []Options{{}, {NoReuseInPlace: true}} {
			p := mustPlan(t, g, opts)
			best := fewest(a, opts)
			if p.Bound != best || best > p.Lower || a.bound(opts) > best {
				t.Fatalf("seed %d: best order %d, found %d, this order %d, bound by paths %d\n%v", seed, best, p.Bound, p.Lower, a.bound(opts), g.Listing())
			}
			for _, policy := range policies {
				buffers := a.liveness(a.schedule(policy), opts).buffers
				got, best := packBestFit(buffers).planned, tightest(buffers)
				if got < best {
					t.Fatalf("seed %d: %d bytes in slots, but they need %d\n%v", seed, got, best, g.Listing())
				}
				packings++
				slots += count(got == best)
			}
			plans++
			bounds += count(a.bound(opts) == best)
			orders += count(p.Lower == best)
			if seed%2 == 0 && best > 0 { // between types nothing can be shared
				oneType++
				whole += count(p.Planned == best)
				worst = max(worst, float64(p.Planned)/float64(best))
			}
		}
	}
	t.Logf("of %d plans, the bound by paths is exact in %d and the order the best in %d; of %d best-fit packings %d are the best; of %d plans with one type %d need the fewest bytes, the worst %.3f times as many", plans, bounds, orders, packings, slots, oneType, whole, worst)
	if bounds < 792 || orders < 785 || slots < 4777 || whole < 378 || worst > 1.125 {
		t.Error("plans have become worse")
	}
}

func count(b bool) int {
	if b {
		return 1
	}
	return 0
}
