package tune

import (
	"cmp"
	"slices"

	"forgekernel/forge/capture"
)

// Verdict is what became of a candidate.
type Verdict string

// Verdicts.
const (
	Chosen     Verdict = "chosen"
	Tie        Verdict = "tie" // as fast as the chosen one, later in the fixed order
	Slower     Verdict = "slower"
	Rejected   Verdict = "rejected"   // failed or wrong, and not timed
	Unmeasured Verdict = "unmeasured" // the kernel was not measured
)

// finalistCount is the number of the first of a ranking that go to the final, in
// which the backend's own choice takes part in any case.
const finalistCount = 3

// Best is the quickest sample in seconds; 0 when there is none.
func (c *Candidate) Best() float64 { return least(c.Samples, c.Again, c.Final) }

// least is the smallest of all numbers; 0 when there is none.
func least(lists ...[]float64) float64 {
	all := slices.Concat(lists...)
	if len(all) == 0 {
		return 0
	}
	return slices.Min(all)
}

// rank orders the candidates that have a time, of which 0 means none: the quickest
// first, and before all others those within [capture.Tie] of it, in the fixed order.
func (k *Kernel) rank(of func(*Candidate) float64) (order []int) {
	times, quickest := make([]float64, len(k.Candidates)), 0.0
	for i := range k.Candidates {
		if times[i] = of(&k.Candidates[i]); times[i] == 0 {
			continue
		}
		order = append(order, i)
		if quickest == 0 || times[i] < quickest {
			quickest = times[i]
		}
	}
	for _, i := range order {
		if times[i] <= quickest*(1+capture.Tie) {
			times[i] = quickest
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(times[a], times[b]) })
	return order
}

// beforeFinal is the quickest sample before the final.
func beforeFinal(c *Candidate) float64 { return least(c.Samples, c.Again) }

// outliers are the candidates whose times are far from what their costs let
// expect. The median candidate says how long a unit of cost takes.
func (k *Kernel) outliers() []int {
	var scales []float64
	scale := func(c *Candidate) float64 {
		if c.Cost > 0 {
			return least(c.Samples) / c.Cost
		}
		return least(c.Samples)
	}
	for i := range k.Candidates {
		if s := scale(&k.Candidates[i]); s > 0 {
			scales = append(scales, s)
		}
	}
	if len(scales) == 0 {
		return nil
	}
	slices.Sort(scales)
	usual := scales[len(scales)/2]
	var list []int
	for i := range k.Candidates {
		if s := scale(&k.Candidates[i]); s > 0 && (s > Outlier*usual || s*Outlier < usual) {
			list = append(list, i)
		}
	}
	return list
}

// finalists are the first of the ranking and the backend's own choice, in the fixed
// order.
func (k *Kernel) finalists() []int {
	order := k.rank(beforeFinal)
	list := slices.Clone(order[:min(finalistCount, len(order))])
	if slices.Contains(order, 0) && !slices.Contains(list, 0) {
		list = append(list, 0)
	}
	slices.Sort(list)
	return list
}

// decide is the index of the candidate that follows from the samples.
func (k *Kernel) decide() int {
	if order := k.rank(func(c *Candidate) float64 { return least(c.Final) }); len(order) > 0 {
		return order[0]
	}
	return 0
}

// settle gives every candidate its verdict.
func (k *Kernel) settle() {
	pick := k.decide()
	best := k.Candidates[pick].Best()
	for i := range k.Candidates {
		c := &k.Candidates[i]
		switch {
		case c.Error != "":
			c.Verdict = Rejected
		case i == pick:
			c.Verdict = Chosen
		case c.Best() == 0:
			c.Verdict = Unmeasured
		case c.Best() <= best*(1+capture.Tie):
			c.Verdict = Tie
		default:
			c.Verdict = Slower
		}
	}
}
