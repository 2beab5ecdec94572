package nebula

import (
	"context"
	"fmt"
	"html"
	"iter"
	"strings"
	"time"
	"unicode/utf8"

	"forgekernel/display"
)

// Completion is a continuation.
type Completion struct {
	Text     string
	Tokens   []int32  // without the stop token
	LogProbs []Choice // of the tokens, with LogProbs
	Reason   Reason
	Usage    Usage
	// Err is why there is no more; nil when the request is complete.
	Err error
}

// Choice is a token that was chosen, and the likeliest ones in its place.
type Choice struct {
	TokenProb
	Top []TokenProb
}

// Collect puts the pieces of a continuation together. With an error there is what
// came before it.
func Collect(pieces iter.Seq2[Piece, error]) (Completion, error) {
	return collect(pieces, func() {})
}

// collect calls each for every token.
func collect(pieces iter.Seq2[Piece, error], each func()) (Completion, error) {
	c := Completion{Reason: Failed}
	var text strings.Builder
	for p, err := range pieces {
		text.WriteString(p.Text)
		if p.Token >= 0 {
			c.Tokens = append(c.Tokens, p.Token)
			if len(p.Top) > 0 {
				c.LogProbs = append(c.LogProbs, Choice{TokenProb{Token: p.Token, LogProb: p.LogProb}, p.Top})
			}
			each()
		}
		if c.Err = err; p.Finish != nil {
			c.Reason, c.Usage = p.Finish.Reason, p.Finish.Usage
		}
	}
	c.Text = text.String()
	return c, c.Err
}

// Run continues a prompt and returns all of the continuation.
func (j *Job) Run(ctx context.Context, prompt string, opts ...RequestOption) (Completion, error) {
	return Collect(j.Generate(ctx, prompt, opts...))
}

// Complete is [Job.Run] for a cell: it shows how far it is when that takes long, and
// panics with the error.
func (j *Job) Complete(ctx context.Context, prompt string, opts ...RequestOption) Completion {
	ctx, done := withCell(ctx)
	defer done()
	meter := display.Progress(ctx, "generating, tokens", 0)
	c, err := collect(j.Generate(ctx, prompt, opts...), func() { meter.Add(1) })
	if err != nil {
		meter.Fail(err)
	}
	meter.Done()
	return must("Complete", c, err)
}

// Rate is how many tokens came in a second after the first; 0 for fewer than two.
func (c Completion) Rate() float64 {
	if per := c.Usage.PerToken(); per > 0 {
		return float64(time.Second) / float64(per)
	}
	return 0
}

// summary says in one line what the continuation took.
func (c Completion) summary() string {
	parts := []string{fmt.Sprintf("%s after %d", display.Count(len(c.Tokens), "token"), c.Usage.Prompt)}
	if c.Usage.Cached > 0 {
		parts[0] += fmt.Sprintf(" (%d from the cache)", c.Usage.Cached)
	}
	if d := c.Usage.TimeToFirst(); d > 0 {
		parts = append(parts, "first after "+brief(d))
	}
	if r := c.Rate(); r > 0 {
		parts = append(parts, fmt.Sprintf("%.3g tokens/s", r))
	}
	switch {
	case c.Err != nil:
		parts = append(parts, c.Err.Error())
	case c.Reason == Length && c.Usage.Full > 0:
		parts = append(parts, fmt.Sprintf("end: length, with room for %s in all", display.Count(c.Usage.Full, "token")))
	default:
		parts = append(parts, "end: "+c.Reason.String())
	}
	return strings.Join(parts, " · ")
}

// brief is a duration with three digits.
func brief(d time.Duration) string {
	for _, unit := range []time.Duration{time.Second, time.Millisecond, time.Microsecond} {
		if d >= unit {
			return d.Round(unit / 100).String()
		}
	}
	return d.String()
}

// shown is the text, or the tokens where they make no text.
func (c Completion) shown() string {
	if len(c.Tokens) > 0 && (c.Text == "" || strings.ContainsRune(c.Text, utf8.RuneError)) {
		return fmt.Sprint(c.Tokens)
	}
	return c.Text
}

// Display shows the text and what it took.
func (c Completion) Display() display.Bundle {
	text, faint := c.shown(), ";opacity:0.7"
	if c.Err != nil {
		faint = ""
	}
	page := `<div class="tex2jax_ignore mathjax_ignore"><pre style="white-space:pre-wrap;margin:0">` + html.EscapeString(text) +
		`</pre><div style="font-size:12px` + faint + `">` + html.EscapeString(c.summary()) + `</div></div>`
	return display.Bundle{Data: map[string]any{"text/html": page, "text/plain": text + "\n(" + c.summary() + ")"}}
}
