package engine

import (
	"context"
	"fmt"
	"math"
)

// Gate compares an engine with the reference before anything is timed: the logits
// after each prompt, those of every decoded token, and the whole greedy continuation.
// All prompts run at once.
type Gate struct {
	Prompts [][]int32
	Tokens  int // of each continuation
	// Tolerance is how far logits may be from the reference, relative to the largest
	// magnitude of their row. Where the two likeliest tokens are closer than twice
	// that, either may follow, and the continuation is compared no further.
	Tolerance float64
}

// Report is what a gate found.
type Report struct {
	Prefill float64 // largest relative difference of logits after a prompt
	Decode  float64 // and of logits after a decoded token
	Tokens  int     // that were compared
	Ties    int     // continuations that ended at a near tie
}

// Check runs the gate. The error says what differs, and where. The engine must have
// blocks for all prompts with their continuations, and no request 1 to len(Prompts).
func (g Gate) Check(ctx context.Context, e Engine, ref *Reference) (Report, error) {
	want := make([]Continuation, len(g.Prompts))
	for i, prompt := range g.Prompts {
		var err error
		if want[i], err = ref.Greedy(ctx, prompt, g.Tokens); err != nil {
			return Report{}, err
		}
	}
	return g.Compare(ctx, e, want)
}

// Compare is Check with continuations, one for each prompt, that [Reference.Greedy]
// gave before.
func (g Gate) Compare(ctx context.Context, e Engine, want []Continuation) (Report, error) {
	var report Report
	rows, err := g.requests(e.Info())
	if err != nil {
		return report, err
	}
	defer func() {
		for _, r := range rows {
			_ = e.Release(context.WithoutCancel(ctx), r.id) // fails with the engine only
		}
	}()
	for i := range rows {
		rows[i].want = want[i]
	}
	for {
		step, of := g.step(rows, e.Info())
		if len(step.Rows) == 0 {
			return report, nil
		}
		t, err := e.Submit(ctx, step)
		if err != nil {
			return report, err
		}
		result, err := e.Wait(ctx, t)
		if err != nil {
			return report, err
		}
		for i, r := range of {
			if err := g.compare(r, step.Rows[i], result.Logits[i], &report); err != nil {
				return report, err
			}
		}
	}
}

// gated is a prompt on its way through the gate.
type gated struct {
	id     uint64
	tokens []int32 // prompt and continuation so far
	at     int     // tokens in the cache
	blocks []int32
	want   Continuation
	given  int // tokens of the continuation
	over   bool
}

// requests gives each prompt its blocks.
func (g Gate) requests(info Info) ([]*gated, error) {
	var list []*gated
	next := int32(0)
	for i, prompt := range g.Prompts {
		r := &gated{id: uint64(i + 1), tokens: append([]int32(nil), prompt...)}
		for range blocksFor(len(prompt)+g.Tokens, info.BlockSize) {
			r.blocks = append(r.blocks, next)
			next++
		}
		if int(next) > info.Blocks {
			return nil, fmt.Errorf("%d prompts with %d tokens more need over %d blocks", len(g.Prompts), g.Tokens, info.Blocks)
		}
		list = append(list, r)
	}
	return list, nil
}

// step takes as many tokens of as many requests as fit.
func (g Gate) step(rows []*gated, info Info) (Step, []*gated) {
	var s Step
	var of []*gated
	room := info.MaxTokens
	for _, r := range rows {
		if r.over || room == 0 || len(of) == info.MaxRows {
			continue
		}
		n := min(room, len(r.tokens)-r.at)
		room -= n
		s.Rows = append(s.Rows, Row{
			Request: r.id, Tokens: r.tokens[r.at : r.at+n], Pos: r.at, Blocks: r.blocks, Logits: r.at+n == len(r.tokens),
		})
		of = append(of, r)
	}
	return s, of
}

// compare looks at what a step gave for one request and takes the next token.
func (g Gate) compare(r *gated, row Row, logits []float32, report *Report) error {
	r.at += len(row.Tokens)
	if !row.Logits {
		return nil
	}
	where, worst := fmt.Sprintf("prompt %d, token %d of the continuation", r.id-1, r.given), &report.Decode
	if r.given == 0 {
		worst = &report.Prefill
	}
	diff, margin := difference(logits, r.want.Logits[r.given])
	*worst = max(*worst, diff)
	if !(diff <= g.Tolerance) {
		return fmt.Errorf("%s: logits differ by %.3g of the largest; the bound is %.3g", where, diff, g.Tolerance)
	}
	got, want := Argmax(logits), r.want.Tokens[r.given]
	switch {
	case got != want && margin > 2*g.Tolerance:
		return fmt.Errorf("%s: it is %d and should be %d", where, got, want)
	case got != want:
		report.Ties++
		r.over = true
		return nil
	}
	report.Tokens++
	r.tokens = append(r.tokens, want)
	r.given++
	r.over = r.given == g.Tokens
	return nil
}

// difference is the largest distance between two rows of logits, relative to the
// largest magnitude of the second, and the relative margin between its two likeliest.
func difference(got, want []float32) (diff, margin float64) {
	scale, first, second := 0.0, math.Inf(-1), math.Inf(-1)
	for i, w := range want {
		x := float64(w)
		scale = max(scale, math.Abs(x))
		diff = max(diff, math.Abs(float64(got[i])-x)) // NaN stays
		if x > first {
			first, second = x, first
		} else {
			second = max(second, x)
		}
	}
	if scale == 0 {
		return diff, 0
	}
	return diff / scale, (first - second) / scale
}
