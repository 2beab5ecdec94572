package sample

import (
	"fmt"
	"math"
	"slices"
)

// lead is the best score and the next.
type lead struct {
	first, second float32
	best          int32
}

// take looks at a score. It must be a number.
func (l *lead) take(i int, v float32) error {
	if v-v != 0 { // it is NaN for infinities and for NaN
		return fmt.Errorf("logit %d is %v", i, v)
	}
	if v > l.second {
		if v > l.first {
			l.first, l.second, l.best = v, l.first, int32(i)
		} else {
			l.second = v
		}
	}
	return nil
}

// Lead is what a greedy choice needs of the logits of a row: the largest, the first where
// several are, and the next.
type Lead struct {
	Token         int32
	First, Second float32
}

// leading finds the best score, by how much it exceeds the next, and whether all are
// numbers. Nearly all scores are no leaders: it looks at eight of them at a time, of which
// a product with zero is NaN if one is no number.
func leading(scores []float32) (best int32, margin float64, err error) {
	l := lead{first: float32(math.Inf(-1)), second: float32(math.Inf(-1))}
	i := 0
	for ; i+8 <= len(scores); i += 8 {
		v := scores[i : i+8 : i+8]
		zero := (v[0]*0 + v[1]*0) + (v[2]*0 + v[3]*0) + ((v[4]*0 + v[5]*0) + (v[6]*0 + v[7]*0))
		s := l.second
		if zero == 0 && !(v[0] > s || v[1] > s || v[2] > s || v[3] > s || v[4] > s || v[5] > s || v[6] > s || v[7] > s) {
			continue
		}
		for k, x := range v {
			if err := l.take(i+k, x); err != nil {
				return 0, 0, err
			}
		}
	}
	for ; i < len(scores); i++ {
		if err := l.take(i, scores[i]); err != nil {
			return 0, 0, err
		}
	}
	return l.best, float64(l.first) - float64(l.second), nil
}

// logProbs are the n best of log softmax, and that of one token, in one pass; best is the
// largest of the logits.
func logProbs(logits []float32, n int, best float32, of int32) ([]TokenProb, float64) {
	n = min(n, len(logits))
	top := make([]TokenProb, 0, n+1)
	floor, sum := float32(math.Inf(-1)), 0.0
	for i, v := range logits {
		sum += math.Exp(float64(v) - float64(best))
		if len(top) == n && v <= floor {
			continue
		}
		at := len(top)
		for at > 0 && top[at-1].LogProb < float64(v) {
			at--
		}
		top = slices.Insert(top, at, TokenProb{int32(i), float64(v)})
		top = top[:min(len(top), n)]
		floor = float32(top[len(top)-1].LogProb)
	}
	norm := float64(best) + math.Log(sum)
	for i := range top {
		top[i].LogProb -= norm
	}
	return top, float64(logits[of]) - norm
}
