package nebula

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	"forgekernel/display"
	"forgekernel/nebula/sched"
)

// Completions are the continuations of several prompts, in their order.
type Completions []Completion

// Batch continues several prompts side by side, as many at once as the job takes.
// Each continuation has its own error.
func (j *Job) Batch(ctx context.Context, prompts []string, opts ...RequestOption) Completions {
	ctx, done := withCell(ctx)
	defer done()
	list := make(Completions, len(prompts))
	meter := display.Progress(ctx, fmt.Sprintf("generating for %s, tokens", display.Count(len(prompts), "prompt")), 0)
	places := make(chan struct{}, cmp.Or(j.o.Spec.Limit, sched.DefaultLimit)*j.o.replicas)
	var group sync.WaitGroup
	for i, prompt := range prompts { // one after another, so that the order is always the same
		places <- struct{}{}
		g, err := j.openText(ctx, prompt, opts)
		if err != nil {
			list[i] = Completion{Reason: Failed, Err: err}
			<-places
			continue
		}
		group.Go(func() {
			list[i], _ = collect(g.pieces(ctx), func() { meter.Add(1) })
			<-places
		})
	}
	group.Wait()
	if ctx.Err() == nil {
		meter.Done()
	}
	return list
}

func (j *Job) openText(ctx context.Context, prompt string, opts []RequestOption) (*generation, error) {
	ids, err := j.model.Encode(prompt)
	if err != nil {
		return nil, err
	}
	return j.open(ctx, ids, opts)
}

// Err is the first error of a continuation.
func (l Completions) Err() error {
	for i, c := range l {
		if c.Err != nil {
			return fmt.Errorf("prompt %d: %w", i, c.Err)
		}
	}
	return nil
}

// maxShown is how many characters of a text a table shows.
const maxShown = 40

// Display lists the continuations.
func (l Completions) Display() display.Bundle {
	t := display.Table{Columns: []display.Column{
		{Name: "", Align: display.AlignRight}, {Name: "prompt", Unit: "tokens"}, {Name: "cached", Unit: "tokens"}, {Name: "generated", Unit: "tokens"},
		{Name: "first", Unit: "ms"}, {Name: "rate", Unit: "tokens/s"}, {Name: "end"}, {Name: "text"},
	}}
	for i, c := range l {
		end, text := c.Reason.String(), c.shown()
		if c.Err != nil {
			end = c.Err.Error()
		}
		if r := []rune(text); len(r) > maxShown {
			text = string(r[:maxShown-1]) + "…"
		}
		t.Rows = append(t.Rows, []any{i, c.Usage.Prompt, c.Usage.Cached, len(c.Tokens), milliseconds(c.Usage.TimeToFirst()), c.Rate(), end, text})
	}
	return t.Display()
}

// milliseconds is a duration for a table; nothing for none.
func milliseconds(d time.Duration) any {
	if d <= 0 {
		return nil
	}
	return float64(d) / float64(time.Millisecond)
}
