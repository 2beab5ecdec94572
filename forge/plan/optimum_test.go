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

// On graphs small enough to try everything, the bound is never above the
// optimum and plans are never below it; how often they are equal is pinned, so
// that a change for the worse is noticed.
func TestAgainstOptimum(t *testing.T) {
	var graphs, boundTight, scheduleBest, slotsBest, planBest int
	worst := 1.0
	for seed := uint64(0); graphs < 400; seed++ {
		g := randomGraph(seed, 6+int(seed%4))
		a, err := analyse(g)
		if err != nil {
			t.Fatal(err)
		}
		if len(a.kernels) > 8 || len(a.kernels) < 3 {
			continue
		}
		graphs++
		for _, opts := range []Options{{}, {NoReuseInPlace: true}} {
			p := mustPlan(t, g, opts)
			best := fewest(a, opts)
			if p.Bound > best || best > p.Lower {
				t.Fatalf("seed %d: bound %d, best order %d, this order %d\n%v", seed, p.Bound, best, p.Lower, g.Listing())
			}
			if p.Planned < best {
				t.Fatalf("seed %d: %d bytes planned, but every order needs %d\n%v", seed, p.Planned, best, g.Listing())
			}
			for _, policy := range policies {
				buffers := a.liveness(a.schedule(policy), opts).buffers
				if slots, best := packBestFit(buffers).planned, tightest(buffers); slots < best {
					t.Fatalf("seed %d: %d bytes in slots, but they need %d\n%v", seed, slots, best, g.Listing())
				} else if slots == best && policy.name == policies[0].name {
					slotsBest++
				}
			}
			boundTight += count(p.Bound == best)
			scheduleBest += count(p.Lower == best)
			planBest += count(p.Planned == best)
			if best > 0 {
				worst = max(worst, float64(p.Planned)/float64(best))
			}
		}
	}
	t.Logf("of %d plans: the bound is exact in %d, the order best in %d, best-fit slots best in %d, planned bytes best in %d; the worst is %.3f of the best", 2*graphs, boundTight, scheduleBest, slotsBest, planBest, worst)
}

func count(b bool) int {
	if b {
		return 1
	}
	return 0
}
