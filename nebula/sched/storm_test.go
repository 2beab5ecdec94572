package sched

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"forgekernel/nebula/cache"
)

// storm submits, ends and runs requests at random and checks each against the
// reference.
func storm(t *testing.T, next func(int) int, ops int) {
	in := info(1+next(5), 8+next(8), 6+next(20), 1+next(5), 1+next(3))
	opts := Options{Limit: 1 + next(12), Chunk: 1 + next(6), Full: Full(next(2)), NoSharing: next(4) == 0}
	if next(4) == 0 {
		opts.Batching = EqualLength{Window: time.Duration(next(4)) * time.Second}
	}
	s := newSim(t, in, opts)
	ended := map[*request]Reason{}
	var all []*request
	for range ops {
		switch op := next(8); {
		case op < 3:
			req := ask(prompt(next(2), 1+next(s.batch.longest())), next(20), int32(next(11)))
			r, err := s.offer(req)
			var full *QueueFull
			var out *cache.OutOfBlocks
			var long *TooLong
			switch {
			case err == nil:
				all = append(all, r)
			case !errors.As(err, &full) && !errors.As(err, &out) && !errors.As(err, &long):
				t.Fatal(err)
			}
		case op < 4 && len(all) > 0:
			r := all[next(len(all))]
			if reason := Reason(next(int(Failed))); !r.done {
				ended[r] = reason
				s.batch.finish(r, reason, nil, s.now)
			}
		case op < 6 && len(s.flying) < in.Depth:
			s.send()
		default:
			s.tick()
		}
		if used := s.batch.pool.Stats().Used; used > in.Blocks {
			t.Fatalf("%d blocks of %d", used, in.Blocks)
		}
	}
	s.finish()
	for _, r := range all {
		reason, cut := ended[r]
		if !cut {
			checkWhole(t, r, in)
			continue
		}
		tokens, fin := read(t, r.stream)
		want, _ := sequential(r.Request, in)
		if fin.Reason != reason || len(tokens) > len(want) || !slices.Equal(tokens, want[:len(tokens)]) {
			t.Errorf("ended with %v: %v, %v, want a beginning of %v", reason, tokens, fin.Reason, want)
		}
	}
	for id, n := range s.engine.released {
		if most := 1 + all[id-1].usage.Preempted; n > most {
			t.Errorf("request %d was released %d times", id, n)
		}
	}
}

func TestStorm(t *testing.T) {
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 3))
		t.Run(fmt.Sprint(seed), func(t *testing.T) { storm(t, rng.IntN, 150) })
	}
}

func FuzzStorm(f *testing.F) {
	f.Add([]byte{2, 3, 9, 3, 1, 5, 2, 0, 1, 1, 0, 0, 7, 9, 1, 7, 7, 7, 0, 1, 5, 3, 2, 7})
	f.Fuzz(func(t *testing.T, data []byte) {
		at := 0
		next := func(n int) int {
			if at == len(data) {
				return 0
			}
			at++
			return int(data[at-1]) % n
		}
		storm(t, next, min(len(data), 150))
	})
}
