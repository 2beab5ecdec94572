package sched

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"testing"
	"time"

	"forgekernel/nebula/cache"
	"forgekernel/nebula/engine"
	"forgekernel/nebula/sample"
)

// fakeEngine has blocks that hold tokens instead of keys and values. The logits
// of a row are a function of all tokens that the row sees through its table, so
// that a wrong table, a stale block or a wrong position changes what is
// generated. It checks every step like a rank does, and the rules of the engine.
type fakeEngine struct {
	info    engine.Info
	latency time.Duration // of a step, in Wait
	leads   bool          // a device finds the leads of logits

	mu       sync.Mutex
	ledger   *cache.Ledger
	blocks   [][]int32
	steps    []engine.Step // all that were submitted
	results  map[engine.Ticket]engine.Result
	released map[uint64]int
	inFlight map[uint64]int
	peak     int // most blocks held at a time

	failSubmit, failWait engine.Ticket // the step at which to fail; 0 = never
	failure              error
}

var errBroken = &engine.Error{Rank: 1, Epoch: 1, Step: 7, Op: "all_reduce", Err: errors.New("peer is gone")}

func info(rows, tokens, blocks, size, depth int) engine.Info {
	return engine.Info{TP: 1, PP: depth, Vocab: 11, Context: blocks * size, BlockSize: size, Blocks: blocks,
		MaxRows: rows, MaxTokens: tokens, Depth: depth}
}

func newFake(t testing.TB, info engine.Info) *fakeEngine {
	t.Helper()
	ledger, err := cache.NewLedger(info.Blocks, info.BlockSize, info.Context)
	if err != nil {
		t.Fatal(err)
	}
	f := &fakeEngine{info: info, ledger: ledger, results: map[engine.Ticket]engine.Result{},
		released: map[uint64]int{}, inFlight: map[uint64]int{}}
	for range info.Blocks {
		f.blocks = append(f.blocks, make([]int32, info.BlockSize))
	}
	return f
}

func (f *fakeEngine) Info() engine.Info { return f.info }

func (f *fakeEngine) Submit(_ context.Context, step engine.Step) (engine.Ticket, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.failure != nil {
		return 0, f.failure
	}
	if err := f.check(step); err != nil {
		return 0, err
	}
	f.steps = append(f.steps, step)
	ticket := engine.Ticket(len(f.steps))
	if ticket == f.failSubmit {
		f.failure = errBroken
		return 0, f.failure
	}
	f.results[ticket] = f.execute(step)
	f.peak = max(f.peak, f.ledger.Held())
	return ticket, nil
}

func (f *fakeEngine) check(step engine.Step) error {
	tokens := 0
	var appends []cache.Append
	for _, row := range step.Rows {
		tokens += len(row.Tokens)
		appends = append(appends, cache.Append{Request: row.Request, Pos: row.Pos, Tokens: len(row.Tokens), Blocks: row.Blocks})
	}
	if len(step.Rows) == 0 || len(step.Rows) > f.info.MaxRows || tokens > f.info.MaxTokens || len(f.results) >= f.info.Depth {
		return &engine.Refused{Row: -1, Reason: fmt.Sprintf("%d rows, %d tokens, %d steps in flight", len(step.Rows), tokens, len(f.results))}
	}
	if err := f.ledger.Begin(appends); err != nil {
		return &engine.Refused{Row: -1, Reason: err.Error()}
	}
	f.ledger.End()
	return nil
}

func (f *fakeEngine) execute(step engine.Step) engine.Result {
	size := f.info.BlockSize
	for _, row := range step.Rows {
		f.inFlight[row.Request]++
		for i, token := range row.Tokens {
			p := row.Pos + i
			f.blocks[row.Blocks[p/size]][p%size] = token
		}
	}
	var result engine.Result
	for _, row := range step.Rows {
		var logits []float32
		if row.Logits {
			seen := make([]int32, row.Pos+len(row.Tokens))
			for p := range seen {
				seen[p] = f.blocks[row.Blocks[p/size]][p%size]
			}
			logits = predict(seen, f.info.Vocab)
		}
		if f.leads {
			var lead sample.Lead
			if row.Logits && row.Lead {
				lead, logits = leadOf(logits), nil
			}
			result.Leads = append(result.Leads, lead)
		}
		result.Logits = append(result.Logits, logits)
	}
	return result
}

func leadOf(logits []float32) sample.Lead {
	l := sample.Lead{Token: engine.Argmax(logits), Second: float32(math.Inf(-1))}
	l.First = logits[l.Token]
	for i, v := range logits {
		if int32(i) != l.Token {
			l.Second = max(l.Second, v)
		}
	}
	return l
}

func (f *fakeEngine) Wait(_ context.Context, t engine.Ticket) (engine.Result, error) {
	if f.latency > 0 {
		time.Sleep(f.latency)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if t == f.failWait && f.failure == nil {
		f.failure = errBroken
	}
	if f.failure != nil {
		return engine.Result{}, f.failure
	}
	result, ok := f.results[t]
	if !ok {
		return engine.Result{}, fmt.Errorf("step %d was waited for twice", t)
	}
	delete(f.results, t)
	for _, row := range f.steps[t-1].Rows {
		f.inFlight[row.Request]--
	}
	return result, nil
}

func (f *fakeEngine) Release(_ context.Context, request uint64) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.inFlight[request] > 0 {
		return fmt.Errorf("request %d has a step in flight", request)
	}
	if !f.ledger.Release(request) {
		return fmt.Errorf("request %d is not known", request)
	}
	f.released[request]++
	return f.failure
}

func (f *fakeEngine) Status() engine.Status {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.failure != nil {
		return engine.Status{Health: engine.Failed, Err: f.failure}
	}
	return engine.Status{}
}

func (f *fakeEngine) Close() error { return nil }

// predict is a decoder: a function of all tokens it sees.
func predict(seen []int32, vocab int) []float32 {
	h := uint32(2166136261)
	for _, token := range seen {
		h = (h ^ uint32(token)) * 16777619
		h ^= h >> 15
	}
	logits := make([]float32, vocab)
	logits[h%uint32(vocab)] = 1
	return logits
}

// ask asks for the likeliest tokens, most of them at most (0 = all that fit).
func ask(prompt []int32, most int, stop ...int32) Request {
	return Request{Prompt: prompt, Params: sample.Params{MaxTokens: most, StopTokens: stop}}
}

// sequential is the reference: one request alone, without any cache.
func sequential(req Request, info engine.Info) (generated []int32, reason Reason) {
	seen := slices.Clone(req.Prompt)
	for {
		logits := predict(seen, info.Vocab)
		token := int32(slices.Index(logits, slices.Max(logits)))
		seen = append(seen, token)
		generated = append(generated, token)
		switch {
		case slices.Contains(req.Params.StopTokens, token):
			return generated, Stopped
		case len(generated) == req.Params.MaxTokens, len(seen) == min(info.Context, info.Blocks*info.BlockSize):
			return generated, Length
		}
	}
}

// prompt returns n tokens that differ from one first token to another.
func prompt(first, n int) []int32 {
	list := make([]int32, n)
	for i := range list {
		list[i] = int32((first + i*i) % 11)
	}
	return list
}

// read drains a stream to its end.
func read(t testing.TB, s *Stream) ([]int32, *Finish) {
	t.Helper()
	var tokens []int32
	for e := range s.Events() {
		if e.Finish != nil {
			if e.Finish != s.Finish() {
				t.Error("the last event and Finish differ")
			}
			return tokens, e.Finish
		}
		if e.Index != len(tokens) {
			t.Errorf("token %d comes as number %d", len(tokens), e.Index)
		}
		tokens = append(tokens, e.Token)
	}
	t.Error("a stream without an end")
	return tokens, nil
}

// checkClean verifies that nothing is held by anybody.
func checkClean(t testing.TB, b *batch, f *fakeEngine) {
	t.Helper()
	if s := b.pool.Stats(); s.Used != 0 || s.Shared != 0 || s.Cached+s.Free != s.Blocks {
		t.Errorf("blocks are held: %+v", s)
	}
	if b.pending() != 0 || b.promised != 0 {
		t.Errorf("%d requests and %d promised blocks are left", b.pending(), b.promised)
	}
	if f.failure == nil && f.ledger.Requests() != 0 {
		t.Errorf("the ranks still know %d requests", f.ledger.Requests())
	}
}
