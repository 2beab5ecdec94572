package sched

import (
	"math/rand/v2"
	"testing"
	"time"
)

// traffic is what comes, and when: short questions and long documents mixed.
type arrival struct {
	after time.Duration // the one before it
	req   Request
}

func traffic(seed uint64, n int, between time.Duration) []arrival {
	rng := rand.New(rand.NewPCG(seed, 5))
	list := make([]arrival, n)
	for i := range list {
		length, out := 4+rng.IntN(12), 4+rng.IntN(12)
		if rng.IntN(4) == 0 {
			length = 100 + rng.IntN(200)
		}
		if rng.IntN(4) == 0 {
			out = 40 + rng.IntN(40)
		}
		p := make([]int32, length)
		for j := range p {
			p[j] = int32(rng.IntN(11))
		}
		list[i] = arrival{time.Duration(rng.ExpFloat64() * float64(between)), ask(p, out)}
	}
	return list
}

// replay runs traffic through a simulated engine and returns its requests.
func replay(t *testing.T, opts Options, list []arrival) []*request {
	s := newSim(t, info(8, 256, 600, 8, 1), opts)
	var all []*request
	next := s.now
	for len(all) < len(list) {
		next = next.Add(list[len(all)].after)
		for s.now.Before(next) {
			if s.tick() == nil {
				s.now = next
			}
		}
		all = append(all, s.submit(list[len(all)].req))
	}
	s.finish()
	return all
}

// slowdowns returns how much longer each request took than alone.
func slowdowns(all []*request) []float64 {
	var list []float64
	for _, r := range all {
		steps := ceil(len(r.Prompt), 256) + r.usage.Generated - 1
		alone := time.Duration(steps)*stepCost + time.Duration(len(r.Prompt)+r.usage.Generated-1)*tokenCost
		list = append(list, float64(r.usage.Last.Sub(r.usage.Submitted))/float64(alone))
	}
	return list
}

// longestGap returns the longest time between two tokens of a request.
func longestGap(all []*request) time.Duration {
	var longest time.Duration
	for _, r := range all {
		last := r.usage.First
		for e := range r.stream.Events() {
			longest = max(longest, e.At.Sub(last))
			last = e.At
		}
	}
	return longest
}

// jain returns Jain's index of fairness, 1 when all have the same and 1/n when
// one has everything.
func jain(values []float64) float64 {
	sum, squares := 0.0, 0.0
	for _, v := range values {
		sum += v
		squares += v * v
	}
	return sum * sum / (float64(len(values)) * squares)
}

func mean(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}

func TestFairnessUnderMixedLengths(t *testing.T) {
	for seed := range uint64(3) {
		list := traffic(seed, 150, 4*time.Second)
		var index, slow [3]float64
		var gap [3]time.Duration
		for i, opts := range []Options{{Chunk: 32}, {Chunk: 256}, {Batching: EqualLength{Window: time.Second}}} {
			all := replay(t, opts, list)
			index[i], slow[i], gap[i] = jain(slowdowns(all)), mean(slowdowns(all)), longestGap(all)
		}
		t.Logf("seed %d, chunks of 32, of 256, equal lengths: Jain's index %.2f of slowdowns, mean %.2f; longest gap between tokens %v",
			seed, index, slow, gap)
		if index[0] < 0.8 || slow[0] > 1.5 {
			t.Errorf("index %.2f, mean slowdown %.2f", index[0], slow[0])
		}
		if gap[0]*4 > gap[1] {
			t.Errorf("chunks shorten the longest gap only from %v to %v", gap[1], gap[0])
		}
		if index[0] < index[2] || slow[0]*2 > slow[2] {
			t.Errorf("batches of equal lengths do as well: index %.2f, mean slowdown %.2f", index[2], slow[2])
		}
	}
}

// Under overload and with blocks for few, nobody waits for his first step more
// than twice the steps that those before him would need one after another: the
// oldest has at least half of the tokens for prompts.
func TestNobodyStarves(t *testing.T) {
	list := traffic(9, 80, 100*time.Millisecond)
	s := newSim(t, info(8, 256, 60, 8, 1), Options{Chunk: 32, NoSharing: true})
	var all []*request
	for _, a := range list {
		all = append(all, s.submit(a.req))
	}
	steps, ahead := 0, 0
	started := make([]int, len(all))
	for s.batch.pending() > 0 {
		s.tick()
		steps++
		for i, r := range all {
			if started[i] == 0 && !r.usage.Started.IsZero() {
				started[i] = steps
			}
		}
	}
	for i, r := range all {
		if started[i] > 2*ahead+1 {
			t.Errorf("request %d waited %d steps for %d of work before it", i, started[i], ahead)
		}
		// Alone, a request needs a step for each chunk and token, once more for
		// each time it gave up its blocks.
		ahead += (1 + r.usage.Preempted) * (ceil(len(r.Prompt), 32) + r.usage.Generated)
	}
	s.finish()
}
