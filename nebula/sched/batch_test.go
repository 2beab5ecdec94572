package sched

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"forgekernel/nebula/cache"
	"forgekernel/nebula/engine"
	"forgekernel/nebula/sample"
)

// sim plays the scheduler's loop step by step, on a clock of its own.
type sim struct {
	t      testing.TB
	batch  *batch
	engine *fakeEngine
	now    time.Time
	flying []*flight
}

func newSim(t testing.TB, info engine.Info, opts Options) *sim {
	t.Helper()
	b, err := newBatch(info, opts)
	if err != nil {
		t.Fatal(err)
	}
	return &sim{t: t, batch: b, engine: newFake(t, info), now: time.Unix(0, 0)}
}

func (s *sim) submit(req Request) *request {
	s.t.Helper()
	r, err := s.offer(req)
	if err != nil {
		s.t.Fatal(err)
	}
	return r
}

func (s *sim) offer(req Request) (*request, error) {
	r, err := s.batch.newRequest(req)
	if err == nil {
		err = s.batch.admit(r, s.now)
	}
	return r, err
}

// send forms a step and hands it over; nil when there is none to form.
func (s *sim) send() (*flight, time.Time) {
	s.t.Helper()
	f, again := s.batch.plan(s.now)
	for _, id := range f.releases {
		if err := s.engine.Release(context.Background(), id); err != nil {
			s.t.Fatal(err)
		}
	}
	if len(f.rows) == 0 {
		return nil, again
	}
	ticket, err := s.engine.Submit(context.Background(), f.step)
	if err != nil {
		s.t.Fatal(err)
	}
	f.ticket = ticket
	s.flying = append(s.flying, f)
	return f, again
}

// receive takes in the oldest step in flight.
func (s *sim) receive() {
	s.t.Helper()
	f := s.flying[0]
	s.flying = s.flying[1:]
	result, err := s.engine.Wait(context.Background(), f.ticket)
	if err != nil {
		s.t.Fatal(err)
	}
	choices := make([]choice, len(f.rows))
	for i, r := range f.rows {
		if f.step.Rows[i].Logits {
			choices[i].Choice, choices[i].err = r.sampler.Next(result.Logits[i])
		}
	}
	s.batch.complete(f, choices, s.now)
}

// What a step costs in simulations: as on a processor whose memory is what
// decoding waits for, and arithmetic what prompts wait for.
const (
	stepCost  = 100 * time.Millisecond
	tokenCost = 10 * time.Millisecond
)

// tick fills the pipeline and takes in one step, at its cost on the simulation's
// clock. It returns that step, or nil.
func (s *sim) tick() *flight {
	s.t.Helper()
	for len(s.flying) < s.batch.info.Depth {
		if f, _ := s.send(); f == nil {
			break
		}
	}
	if len(s.flying) == 0 {
		return nil
	}
	f := s.flying[0]
	s.now = s.now.Add(stepCost)
	for _, row := range f.step.Rows {
		s.now = s.now.Add(time.Duration(len(row.Tokens)) * tokenCost)
	}
	s.receive()
	return f
}

// finish runs until nothing is left and checks that nothing is held.
func (s *sim) finish() {
	s.t.Helper()
	for n := 0; s.batch.pending() > 0; n++ {
		if s.tick() == nil && s.batch.pending() > 0 {
			s.now = s.now.Add(time.Second) // a window
			if n > 10000 {
				s.t.Fatalf("stuck with %d requests", s.batch.pending())
			}
		}
	}
	s.send()
	checkClean(s.t, s.batch, s.engine)
}

// checkWhole verifies a request that nobody ended against the reference.
func checkWhole(t testing.TB, r *request, info engine.Info) {
	t.Helper()
	tokens, fin := read(t, r.stream)
	want, reason := sequential(r.Request, info)
	if !slices.Equal(tokens, want) || fin.Reason != reason || fin.Err != nil {
		t.Errorf("request %d: %v, %v, %v\nwant %v, %v", r.id, tokens, fin.Reason, fin.Err, want, reason)
	}
	if u := fin.Usage; u.Generated != len(want) || u.Prompt != len(r.Prompt) || u.Cached >= u.Prompt {
		t.Errorf("request %d: %+v", r.id, u)
	}
}

func TestEveryScheduleGivesTheSequentialAnswer(t *testing.T) {
	for _, batching := range []Batching{Continuous{}, EqualLength{Window: 3 * time.Second}} {
		for _, depth := range []int{1, 2, 3} {
			for _, rows := range []int{1, 2, 5} {
				for _, blocks := range []int{9, 14, 60} {
					for _, size := range []int{1, 4} {
						opts := Options{Batching: batching, Chunk: 3}
						in := info(rows, 8, blocks*4/size, size, depth)
						t.Run(fmt.Sprintf("%T/depth%d/rows%d/blocks%dx%d", batching, depth, rows, in.Blocks, size), func(t *testing.T) {
							s := newSim(t, in, opts)
							var all []*request
							for i := range 12 {
								all = append(all, s.submit(ask(prompt(i%3, 1+i*7%20), 1+i*5%12, int32(i%11))))
								if i%2 == 0 {
									s.tick()
								}
							}
							s.finish()
							for _, r := range all {
								checkWhole(t, r, in)
							}
						})
					}
				}
			}
		}
	}
}

func TestLongPromptsDoNotStallDecoders(t *testing.T) {
	s := newSim(t, info(4, 64, 400, 4, 1), Options{Chunk: 8})
	short := s.submit(ask(prompt(1, 5), 100))
	s.tick()
	long := s.submit(ask(prompt(2, 200), 1))
	for steps := 0; !long.done; steps++ {
		before := short.usage.Generated
		f := s.tick()
		if short.usage.Generated != before+1 {
			t.Fatalf("step %d gave the decoder no token", steps)
		}
		if n := len(f.step.Rows[1].Tokens); n > 8 {
			t.Fatalf("a chunk of %d tokens beside a decoder", n)
		}
		if steps > 200/8+1 {
			t.Fatal("the prompt is not computed at the rate of its chunks")
		}
	}
	s.finish()
}

func TestShortPromptsSharePrefillSteps(t *testing.T) {
	s := newSim(t, info(8, 64, 100, 4, 1), Options{})
	for i := range 8 {
		s.submit(ask(prompt(i, 8), 2))
	}
	if f := s.tick(); len(f.rows) != 8 {
		t.Errorf("%d prompts of 8 tokens in a step of 64", len(f.rows))
	}
	s.finish()
}

func TestStagesHaveEqualShares(t *testing.T) {
	for _, c := range []struct{ depth, requests int }{{2, 8}, {2, 5}, {3, 7}, {4, 4}} {
		s := newSim(t, info(8, 64, 200, 4, c.depth), Options{})
		for i := range c.requests {
			s.submit(ask(prompt(i, 3), 30))
		}
		if f := s.tick(); len(f.rows) != ceil(c.requests, c.depth) {
			t.Errorf("depth %d, %d prompts: a step of %d", c.depth, c.requests, len(f.rows))
		}
		for range 4 * c.depth { // past the prompts
			s.tick()
		}
		for range 4 * c.depth {
			f := s.tick()
			if n, most := len(f.rows), ceil(c.requests, c.depth); n > most || n < c.requests/c.depth-1 || n == 0 {
				t.Errorf("depth %d, %d requests: a step of %d", c.depth, c.requests, n)
			}
			if len(s.flying) != c.depth-1 {
				t.Errorf("depth %d: %d steps stay in flight", c.depth, len(s.flying))
			}
		}
		s.finish()
	}
}

func TestChunksOfAPromptFollowOneAnother(t *testing.T) {
	in := info(4, 64, 100, 4, 3)
	s := newSim(t, in, Options{Chunk: 16})
	r := s.submit(ask(prompt(0, 100), 5))
	for chunk := range 7 {
		f := s.tick()
		if n := min(16, 100-16*chunk); len(f.step.Rows) != 1 || len(f.step.Rows[0].Tokens) != n {
			t.Fatalf("chunk %d: %+v", chunk, f.step.Rows)
		}
		if want := min(2, 6-chunk); len(s.flying) != want {
			t.Fatalf("after chunk %d %d steps are in flight, want %d", chunk, len(s.flying), want)
		}
	}
	s.finish()
	checkWhole(t, r, in)
}

func TestAPromptThatEndedIsNotComputedOn(t *testing.T) {
	s := newSim(t, info(4, 64, 100, 4, 3), Options{Chunk: 16})
	r := s.submit(ask(prompt(0, 100), 5))
	s.tick() // 2 chunks more are in flight
	s.batch.finish(r, Cancelled, nil, s.now)
	s.finish()
	if n := len(s.engine.steps); n != 3 {
		t.Errorf("%d steps", n)
	}
}

func TestPromptsAreNotStarvedByDecoders(t *testing.T) {
	s := newSim(t, info(4, 16, 400, 4, 2), Options{})
	for i := range 7 {
		s.submit(ask(prompt(i, 3), 100))
	}
	for range 10 {
		s.tick()
	}
	late := s.submit(ask(prompt(9, 3), 1))
	for steps := 0; !late.done; steps++ {
		if s.tick(); steps > 4 {
			t.Fatal("decoders leave no row for a prompt")
		}
	}
	for steps := range 12 { // and take turns among themselves
		s.tick()
		least, most := 1000, 0
		for _, r := range s.batch.running {
			least, most = min(least, r.usage.Generated), max(most, r.usage.Generated)
		}
		if most-least > 6 {
			t.Fatalf("step %d: from %d to %d tokens", steps, least, most)
		}
	}
	s.finish()
}

func TestCommonPrefixIsComputedOnce(t *testing.T) {
	const common, own, n = 512, 16, 8
	for _, depth := range []int{1, 2} {
		in := info(8, 8192, 600, 16, depth)
		var prefill, blocks [2]int
		for i, alone := range []bool{false, true} {
			s := newSim(t, in, Options{NoSharing: alone, Chunk: 8192})
			var all []*request
			for j := range n {
				p := append(prompt(0, common), prompt(j, own)...)
				all = append(all, s.submit(ask(p, 16)))
			}
			s.finish()
			prefill[i], blocks[i] = int(s.batch.stats.prompt), s.engine.peak
			for _, r := range all {
				checkWhole(t, r, in)
			}
		}
		if prefill[1] != n*(common+own) {
			t.Errorf("unshared: %d prompt tokens computed", prefill[1])
		}
		if prefill[0]*5 > prefill[1] || blocks[0]*5 > blocks[1] {
			t.Errorf("depth %d: %d of %d prompt tokens computed, %d of %d blocks held", depth, prefill[0], prefill[1], blocks[0], blocks[1])
		}
	}
}

func TestTheYoungestGivesUpItsBlocks(t *testing.T) {
	in := info(4, 64, 12, 4, 1)
	s := newSim(t, in, Options{})
	var all []*request
	for i := range 4 {
		all = append(all, s.submit(ask(prompt(i, 4), 28)))
	}
	s.finish()
	if s.batch.stats.preemptions == 0 {
		t.Fatal("4 requests of 8 blocks in a pool of 12 without a preemption")
	}
	if all[0].usage.Preempted != 0 {
		t.Error("the oldest was preempted")
	}
	for i, r := range all {
		if i > 0 && r.usage.Last.Before(all[i-1].usage.Last) {
			t.Errorf("request %d overtook an older one of the same length", i)
		}
		checkWhole(t, r, in)
	}
}

// Blocks of one token run out while two prompts are being computed beside two
// decoders.
func TestPromptsGiveWayToOlderDecoders(t *testing.T) {
	in := info(4, 64, 40, 1, 1)
	s := newSim(t, in, Options{Chunk: 1})
	all := []*request{s.submit(ask(prompt(0, 2), 30)), s.submit(ask(prompt(1, 2), 30))}
	s.tick()
	all = append(all, s.submit(ask(prompt(2, 15), 3)), s.submit(ask(prompt(3, 15), 3)))
	s.tick()
	if all[2].seq == nil || all[3].seq == nil {
		t.Fatal("the prompts have not begun")
	}
	s.finish()
	if all[2].usage.Preempted == 0 || all[3].usage.Preempted == 0 || all[0].usage.Preempted != 0 {
		t.Errorf("preempted %d, %d, %d times", all[0].usage.Preempted, all[2].usage.Preempted, all[3].usage.Preempted)
	}
	for _, r := range all {
		checkWhole(t, r, in)
	}
}

// A request begins when its prompt fits beside what the running ones still need
// for theirs and a block more for each; blocks that it would share are not there
// for it a second time.
func TestWhoFits(t *testing.T) {
	s := newSim(t, info(4, 64, 10, 4, 1), Options{Chunk: 4})
	s.submit(ask(prompt(1, 9), 1))
	s.finish()                      // leaves 2 idle blocks
	s.submit(ask(prompt(2, 2), 12)) // a decoder with 1 block
	s.tick()
	s.submit(ask(prompt(3, 15), 2)) // a prompt with 1 block of 4
	s.tick()
	for n, want := range map[int]bool{12: true, 13: false} { // 3 and 4 blocks; 8 are available, 2 of them shared, 5 are needed
		r, err := s.batch.newRequest(ask(prompt(1, n), 2))
		if err != nil {
			t.Fatal(err)
		}
		have := s.batch.pool.Match(r.tokens)
		if got := s.batch.fits(r, have); got != want || have.Tokens != 8 {
			t.Errorf("a prompt of %d tokens, %d of them there, fits: %v", n, have.Tokens, got)
		}
	}
	s.finish()
}

func TestRefuseNeverPreempts(t *testing.T) {
	in := info(4, 64, 12, 4, 1)
	s := newSim(t, in, Options{Full: Refuse})
	first := s.submit(ask(prompt(0, 4), 28)) // 8 blocks
	second := s.submit(ask(prompt(1, 4), 12))
	_, err := s.offer(ask(prompt(2, 4), 1))
	var out *cache.OutOfBlocks
	if !errors.As(err, &out) || out.Need != 2 || out.Free != 0 {
		t.Fatalf("%v", err)
	}
	s.finish()
	if s.batch.stats.preemptions != 0 {
		t.Error("preempted")
	}
	checkWhole(t, first, in)
	checkWhole(t, second, in)
	s.submit(ask(prompt(2, 4), 1))
	s.finish()
}

func TestAdmission(t *testing.T) {
	s := newSim(t, info(4, 64, 4, 4, 1), Options{Limit: 2})
	for _, c := range []struct {
		req  Request
		want string
	}{
		{Request{}, "the prompt has no tokens"},
		{ask([]int32{1, 11}, 0), "token 1 of the prompt is 11; the vocabulary has 11"},
		{ask([]int32{-1}, 0), "token 0 of the prompt is -1; the vocabulary has 11"},
		{ask(prompt(0, 16), 0), "prompt of 16 tokens: at most 15 fit, with room for one more"},
		{ask(prompt(0, 2), 0, 11), "there is no token 11 in a vocabulary of 11"},
		{Request{Prompt: prompt(0, 2), Params: sample.Params{Temperature: -1}}, sample.Params{Temperature: -1}.Check().Error()},
	} {
		if _, err := s.offer(c.req); err == nil || err.Error() != c.want {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
	s.submit(ask(prompt(0, 8), 0))
	s.tick()
	s.submit(ask(prompt(0, 1), 0))
	_, err := s.offer(ask(prompt(0, 1), 0))
	if full := (*QueueFull)(nil); !errors.As(err, &full) || full.Pending != 2 || full.Limit != 2 {
		t.Errorf("%v", err)
	}
	s.finish()
}

func TestEqualLengthBatches(t *testing.T) {
	s := newSim(t, info(3, 64, 100, 4, 1), Options{Batching: EqualLength{Window: 10 * time.Second}})
	a := s.submit(ask(prompt(0, 4), 3))
	other := s.submit(ask(prompt(0, 5), 3))
	if f, again := s.send(); f != nil || !again.Equal(s.now.Add(10*time.Second)) {
		t.Fatalf("a batch that is not full began, or asks again at %v", again)
	}
	b := s.submit(ask(prompt(1, 4), 3))
	c := s.submit(ask(prompt(2, 4), 3))
	if f := s.tick(); len(f.rows) != 3 || slices.Contains(f.rows, other) {
		t.Fatalf("the full batch has %d rows", len(f.rows))
	}
	late := s.submit(ask(prompt(3, 5), 3))
	for !a.done {
		if f := s.tick(); slices.Contains(f.rows, other) || slices.Contains(f.rows, late) {
			t.Fatal("a request joined a running batch")
		}
	}
	if !b.done || !c.done {
		t.Error("equal requests did not end together")
	}
	s.now = s.now.Add(10 * time.Second)
	if f := s.tick(); len(f.rows) != 2 {
		t.Errorf("after the window %d rows", len(f.rows))
	}
	s.finish()
}

func TestAFailedSamplerEndsItsRequestAlone(t *testing.T) {
	in := info(4, 64, 40, 4, 1)
	s := newSim(t, in, Options{})
	good := s.submit(ask(prompt(0, 4), 5))
	r := s.submit(ask(prompt(1, 4), 5))
	cause := errors.New("all logits are NaN")
	r.sampler = samplerFunc(func([]float32) (sample.Choice, error) { return sample.Choice{}, cause })
	s.finish()
	if tokens, fin := read(t, r.stream); len(tokens) != 0 || fin.Reason != Failed || fin.Err != cause {
		t.Errorf("%v, %+v", tokens, fin)
	}
	checkWhole(t, good, in)
}

type samplerFunc func([]float32) (sample.Choice, error)

func (f samplerFunc) Next(logits []float32) (sample.Choice, error) { return f(logits) }
func (f samplerFunc) Led() bool                                    { return true }
func (f samplerFunc) Take(l sample.Lead) (sample.Choice, error)    { return f(nil) }
