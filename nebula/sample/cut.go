package sample

import "math"

// entry is a token that may be chosen.
type entry struct {
	weight float64
	score  float32
	id     int32
}

// before tells the order of tokens: the likelier first, of equals the lower id.
func (a entry) before(b entry) bool {
	return a.score > b.score || a.score == b.score && a.id < b.id
}

// cut finds, in the order of the entries, the last of the fewest whose weights are
// together at least the target. It reorders the entries and takes time in proportion
// to their number: it is quickselect with weights.
func cut(entries []entry, target float64) entry {
	var last entry
	for round := uint64(0); len(entries) > 0; round++ {
		at, sum := partition(entries, int(mix(round)%uint64(len(entries))))
		pivot := entries[at]
		switch {
		case sum >= target && at > 0:
			entries = entries[:at]
		case sum+pivot.weight >= target:
			return pivot
		default:
			// Rounding can leave the target above the sum of all: then it is the last one.
			last, target, entries = pivot, target-sum-pivot.weight, entries[at+1:]
		}
	}
	return last
}

// partition moves the entries before the pivot in front of it. It returns the new
// place of the pivot and the weight in front.
func partition(entries []entry, pivot int) (at int, sum float64) {
	last := len(entries) - 1
	p := entries[pivot]
	entries[pivot], entries[last] = entries[last], p
	for i, e := range entries[:last] {
		if e.before(p) {
			entries[i], entries[at] = entries[at], e
			sum += e.weight
			at++
		}
	}
	entries[at], entries[last] = p, entries[at]
	return at, sum
}

// topK sets the pool to the k likeliest of the scores, in the order of ids.
//
// Of 2k equal blocks the k-th largest maximum is no larger than the k-th largest
// score, so that little more than k scores have to be ordered.
func (s *Sampler) topK(scores []float32, k int) {
	floor := float32(math.Inf(-1))
	if n := len(scores) / (2 * k); n > 1 {
		s.scratch = s.scratch[:0]
		for from := 0; from < len(scores); from += n {
			largest := scores[from]
			for _, v := range scores[from:min(from+n, len(scores))] {
				if v > largest {
					largest = v
				}
			}
			s.scratch = append(s.scratch, entry{1, largest, int32(from)})
		}
		floor = cut(s.scratch, float64(k)).score
	}
	s.pool = s.pool[:0]
	for i, v := range scores {
		if v >= floor {
			s.pool = append(s.pool, entry{1, v, int32(i)})
		}
	}
	s.scratch = append(s.scratch[:0], s.pool...)
	s.pool = keep(s.pool, cut(s.scratch, float64(k)))
}

// topP leaves the fewest likeliest entries of the pool that have the share p of the
// total weight.
//
// Entries with less than (1-p)/n of the weight are together less than 1-p of it, so
// that those above have the share already and only they have to be ordered.
func (s *Sampler) topP(p, total float64) {
	floor := (1 - p) * total / float64(len(s.pool)) / 2 // half: sums are rounded
	s.scratch = s.scratch[:0]
	for _, e := range s.pool {
		if e.weight >= floor {
			s.scratch = append(s.scratch, e)
		}
	}
	s.pool = keep(s.pool, cut(s.scratch, p*total))
}

// keep leaves the entries up to the last one, in their order.
func keep(pool []entry, last entry) []entry {
	kept := pool[:0]
	for _, e := range pool {
		if !last.before(e) {
			kept = append(kept, e)
		}
	}
	return kept
}
