package nebula

import (
	"context"
	"iter"
	"time"

	"forgekernel/nebula/sample"
	"forgekernel/nebula/sched"
	"forgekernel/nebula/token"
)

// TokenProb is a token and the natural logarithm of its probability.
type TokenProb = sample.TokenProb

// Finish is how a request ended.
type Finish = sched.Finish

// Usage is what a request took: tokens, and when.
type Usage = sched.Usage

// Reason is why a request ended.
type Reason = sched.Reason

// The ends of a request.
const (
	Stopped   = sched.Stopped   // by a stop token or a stop string
	Length    = sched.Length    // MaxTokens, or the context is full
	Cancelled = sched.Cancelled // its context ended, or its cell was interrupted
	Expired   = sched.Expired   // its Timeout
	Failed    = sched.Failed    // the job failed, or was closed
)

// Piece is one token of a continuation, or its end.
type Piece struct {
	// Text is what is certain now: whole characters, and nothing that may still
	// become a stop string. It may be empty, and the text of several tokens may come
	// with a later one.
	Text    string
	Token   int32       // -1 for the end
	LogProb float64     // with LogProbs: the model's own
	Top     []TokenProb // with LogProbs
	Finish  *Finish     // of the last piece alone
}

// Generate continues a prompt and gives the tokens as they come; the last piece has
// no token but what is left of the text, and Finish. An error comes with the last one;
// when ctx or the cell ended, it is their cause. Leaving the loop ends the request.
// Ranging over it again makes another one.
func (j *Job) Generate(ctx context.Context, prompt string, opts ...RequestOption) iter.Seq2[Piece, error] {
	return stream(ctx, func(ctx context.Context) (*generation, error) { return j.openText(ctx, prompt, opts) })
}

// GenerateIDs is Generate for a prompt of token ids.
func (j *Job) GenerateIDs(ctx context.Context, prompt []int32, opts ...RequestOption) iter.Seq2[Piece, error] {
	return stream(ctx, func(ctx context.Context) (*generation, error) { return j.open(ctx, prompt, opts) })
}

// stream opens a request each time that it is ranged over.
func stream(ctx context.Context, open func(context.Context) (*generation, error)) iter.Seq2[Piece, error] {
	return func(yield func(Piece, error) bool) {
		ctx, done := withCell(ctx)
		defer done()
		g, err := open(ctx)
		if err != nil {
			yield(Piece{Token: -1}, err)
			return
		}
		g.pieces(ctx)(yield)
	}
}

// generation is a request under way.
type generation struct {
	job    *Job
	stream *sched.Stream
	text   *text
	over   bool
}

// open sends a request. It ends with ctx.
func (j *Job) open(ctx context.Context, prompt []int32, opts []RequestOption) (*generation, error) {
	r, err := newRequest(j.model, opts)
	if err != nil {
		return nil, err
	}
	stream, err := j.submit(ctx, r.submission(prompt))
	if err != nil {
		return nil, reason(ctx, err)
	}
	return &generation{job: j, stream: stream, text: newText(j.model.Tokenizer(), prompt, r.Params.Stop)}, nil
}

// pieces gives all pieces, once.
func (g *generation) pieces(ctx context.Context) iter.Seq2[Piece, error] {
	return func(yield func(Piece, error) bool) {
		defer func() {
			if !g.over {
				g.stream.Close()
			}
		}()
		for !g.over {
			p, err := g.next(ctx)
			if err != nil && p.Finish == nil { // ctx ended, and the request with it
				p.Finish = &Finish{Reason: Cancelled, Err: err, Usage: g.lastUsage()}
			}
			if !yield(p, g.job.failed(reason(ctx, err))) || err != nil {
				return
			}
		}
	}
}

// lastWord is how long a request whose context ended is waited for to tell what it took.
// It tells at once where the leader is alive; the end of a context is not to wait for one
// that is not.
const lastWord = time.Second

// lastUsage is what a request took that has been cancelled, zero if nobody says so in time.
func (g *generation) lastUsage() Usage {
	g.stream.Close()
	ctx, stop := context.WithTimeout(context.Background(), lastWord)
	defer stop()
	for {
		switch e, err := g.stream.Next(ctx); {
		case err != nil:
			return Usage{}
		case e.Finish != nil:
			g.over = true
			return e.Finish.Usage
		}
	}
}

// next is the next piece. The error is why the request ended otherwise than by being
// complete.
func (g *generation) next(ctx context.Context) (Piece, error) {
	for {
		e, err := g.stream.Next(ctx)
		switch {
		case err != nil:
			return Piece{Token: -1}, err
		case e.Finish != nil:
			g.over = true
			p := Piece{Token: -1, Text: g.text.end(), Finish: e.Finish}
			if g.text.stopped { // it is complete, whatever became of the request since
				p.Finish = &Finish{Reason: Stopped, Usage: e.Finish.Usage}
			}
			return p, p.Finish.Err
		case e.Stop || g.text.stopped: // what came after a stop string
			continue
		}
		p := Piece{Token: e.Token, LogProb: e.LogProb, Top: e.Top, Text: g.text.add(e.Token)}
		if g.text.stopped {
			g.stream.Stop()
		}
		return p, nil
	}
}

// text makes text of tokens, up to a stop string.
type text struct {
	tokens  *token.Stream // nil when there is no text
	stop    *sample.Stop
	stopped bool // a stop string was found
}

func newText(t *token.Tokenizer, prompt []int32, stops []string) *text {
	x := &text{stop: sample.NewStop(stops)}
	if t != nil {
		x.tokens = t.Stream(prompt, false)
	}
	return x
}

func (x *text) add(id int32) string {
	if x.tokens == nil {
		return ""
	}
	return x.write(x.tokens.Next(id))
}

func (x *text) write(part string) string {
	out, found := x.stop.Write(part)
	x.stopped = x.stopped || found != ""
	return out
}

// end is the rest of the text.
func (x *text) end() string {
	if x.tokens == nil || x.stopped {
		return ""
	}
	out := x.write(x.tokens.Flush())
	if x.stopped {
		return out
	}
	return out + x.stop.Flush()
}
