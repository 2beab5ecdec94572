package nebula

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"forgekernel/forge"
)

// pieces are all pieces of a continuation, to the error.
func pieces(t *testing.T, j *Job, prompt string, opts ...RequestOption) ([]Piece, error) {
	t.Helper()
	var list []Piece
	for p, err := range j.Generate(t.Context(), prompt, opts...) {
		if list = append(list, p); err != nil {
			return list, err
		}
	}
	return list, nil
}

func TestPieces(t *testing.T) {
	j := begin(t)
	list, err := pieces(t, j, "hello", MaxTokens(12), LogProbs(3))
	if err != nil || len(list) != 13 {
		t.Fatalf("%d pieces, %v", len(list), err)
	}
	var ids []int32
	text := ""
	for i, p := range list {
		text += p.Text
		if last := i == 12; last != (p.Finish != nil) || last != (p.Token < 0) {
			t.Fatalf("piece %d is %+v", i, p)
		}
		if p.Finish == nil {
			ids = append(ids, p.Token)
			if len(p.Top) != 3 || p.Top[0].Token != p.Token || p.Top[0].LogProb != p.LogProb {
				t.Errorf("greedy took %d, log-probability %v, of %v", p.Token, p.LogProb, p.Top)
			}
		}
	}
	prompt, _ := j.Model().Encode("hello")
	if want := strings.TrimPrefix(j.Model().Decode(append(prompt, ids...)), "hello"); text != want {
		t.Errorf("%q, not %q", text, want)
	}
	if u := list[12].Finish.Usage; u.Prompt != 5 || u.Generated != 12 {
		t.Errorf("%+v", u)
	}
}

// TestStopStrings ends texts before a string, wherever it lies in the tokens.
func TestStopStrings(t *testing.T) {
	j := begin(t)
	opts := []RequestOption{MaxTokens(40), Temperature(1), Seed(5)}
	whole, err := j.Run(t.Context(), "hello", opts...)
	if err != nil || len(whole.Text) < 20 {
		t.Fatalf("%q, %v", whole.Text, err)
	}
	runes := []rune(whole.Text)
	for _, at := range []int{0, 3, 9, len(runes) - 3} {
		stop := string(runes[at : at+3])
		want, _, _ := strings.Cut(whole.Text, stop)
		list, err := pieces(t, j, "hello", append(opts, Stop("never", stop))...)
		if err != nil {
			t.Fatal(err)
		}
		text := ""
		for _, p := range list {
			text += p.Text
			if !strings.HasPrefix(want, text) {
				t.Fatalf("%q is shown of %q", text, want)
			}
		}
		end := list[len(list)-1].Finish
		if text != want || end == nil || end.Reason != Stopped {
			t.Errorf("%q, not %q; %+v", text, want, end)
		}
	}
	// A string that never completes is text like any other.
	half, err := j.Run(t.Context(), "hello", append(opts, Stop(string(runes[len(runes)-1])+"…"))...)
	if err != nil || half.Text != whole.Text {
		t.Errorf("%q, not %q; %v", half.Text, whole.Text, err)
	}
}

func TestStopTokens(t *testing.T) {
	j := begin(t)
	whole, _ := j.Run(t.Context(), "hello", MaxTokens(12))
	c, err := j.Run(t.Context(), "hello", MaxTokens(12), StopTokens(whole.Tokens[5]))
	at := slices.Index(whole.Tokens, whole.Tokens[5])
	if err != nil || c.Reason != Stopped || !slices.Equal(c.Tokens, whole.Tokens[:at]) {
		t.Errorf("%+v, not %v; %v", c, whole.Tokens[:at], err)
	}
}

// TestEnds ends requests in all ways and sees that the job goes on.
func TestEnds(t *testing.T) {
	errMine := errors.New("mine")
	for _, processes := range []bool{false, true} {
		var opts []Option
		if processes {
			opts = []Option{TP(2)}
		}
		j := beginEndless(t, opts...)
		first := func(ctx context.Context, stop func(), o ...RequestOption) error {
			n := 0
			for _, err := range j.Generate(ctx, "hello", o...) {
				if err != nil {
					return err
				}
				if n++; n == 2 {
					stop()
				}
			}
			return nil
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		if err := first(ctx, func() { cancel(errMine) }); !errors.Is(err, errMine) {
			t.Errorf("cancelled: %v", err)
		}
		ctx, cancel = context.WithCancelCause(t.Context())
		c, err := collect(j.Generate(ctx, "hello"), func() { cancel(errMine) })
		if c.Reason != Cancelled || !errors.Is(err, errMine) || c.Usage.Prompt == 0 || c.Usage.Generated < len(c.Tokens) || len(c.Tokens) == 0 {
			t.Errorf("cancelled: %+v, %v", c, err)
		}
		cell, interrupt := context.WithCancelCause(context.Background())
		restore := forge.SetContext(func() context.Context { return cell })
		err = first(t.Context(), func() { interrupt(errMine) })
		restore()
		if !errors.Is(err, errMine) {
			t.Errorf("interrupted: %v", err)
		}
		for range j.Generate(t.Context(), "hello") {
			break // leaving the loop ends the request
		}
		c, err = j.Run(t.Context(), "hello", Timeout(time.Nanosecond))
		if c.Reason != Expired || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%+v, %v", c, err)
		}
		if c, err := j.Run(t.Context(), "hello", MaxTokens(5)); err != nil || len(c.Tokens) != 5 {
			t.Errorf("afterwards: %+v, %v", c, err)
		}
		for s := j.Status(); s.Running+s.Queued > 0; s = j.Status() {
			time.Sleep(time.Millisecond) // what was cancelled ends at the next step
		}
	}
}

func TestRefused(t *testing.T) {
	j := beginEndless(t, Limit(1))
	for name, opts := range map[string][]RequestOption{
		"temperature": {Temperature(-1)}, "stop": {Stop("")}, "timeout": {Timeout(-1)}, "tokens": {MaxTokens(-1)},
	} {
		if _, err := j.Run(t.Context(), "hello", opts...); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	var long *TooLong
	if _, err := j.Run(t.Context(), strings.Repeat("x", 1<<14)); !errors.As(err, &long) || hint(err) == "" {
		t.Errorf("a prompt that is too long: %v", err)
	}
	if _, err := j.Run(t.Context(), ""); err == nil {
		t.Error("an empty prompt is continued")
	}
	next, stop := iter.Pull2(j.Generate(t.Context(), "hello"))
	defer stop()
	next()
	var full *QueueFull
	if _, err := j.Run(t.Context(), "hello"); !errors.As(err, &full) || hint(err) == "" {
		t.Errorf("one more than the limit: %v", err)
	}
	none := Seeded(Config{Family: "tiny", Vocab: 61, Hidden: 24, Layers: 1, Heads: 2, KVHeads: 2, HeadDim: 4, FF: 16, Context: 64, Eps: 1e-5}, 1)
	if _, err := none.Encode("x"); err == nil || none.Decode([]int32{1}) != "" {
		t.Errorf("a model without text: %v", err)
	}
}

// TestBatch continues prompts with a common beginning, which is computed once.
func TestBatch(t *testing.T) {
	j := begin(t)
	beginning := strings.Repeat("common ", 6)
	var prompts []string
	for _, c := range "abcdefgh" {
		prompts = append(prompts, beginning+string(c))
	}
	list := j.Batch(t.Context(), prompts, MaxTokens(4))
	if err := list.Err(); err != nil {
		t.Fatal(err)
	}
	for i, c := range list {
		alone, err := j.Run(t.Context(), prompts[i], MaxTokens(4))
		if err != nil || !slices.Equal(alone.Tokens, c.Tokens) {
			t.Errorf("prompt %d: %v, alone %v; %v", i, c.Tokens, alone.Tokens, err)
		}
		if whole := len(beginning) / 8 * 8; i > 0 && c.Usage.Cached != whole {
			t.Errorf("prompt %d found %d tokens, not %d", i, c.Usage.Cached, whole)
		}
	}
	if text := list.Display().Data["text/plain"].(string); !strings.Contains(text, "cached") {
		t.Error(text)
	}
	bad := j.Batch(t.Context(), []string{"fine", ""}, MaxTokens(2))
	if bad[0].Err != nil || bad[1].Err == nil || bad.Err() == nil {
		t.Errorf("%+v", bad)
	}
	if all := j.Batch(t.Context(), prompts, TopP(3)); all[0].Err == nil || all[7].Err == nil {
		t.Errorf("%+v", all)
	}
}

// TestConcurrent has many goroutines use a job while it is closed.
func TestConcurrent(t *testing.T) {
	for name, opts := range map[string][]Option{"goroutines": {TP(2), InProcess()}, "processes": {TP(2)}} {
		t.Run(name, func(t *testing.T) { useAndClose(t, begin(t, append(opts, Name(name))...)) })
	}
}

func useAndClose(t *testing.T, j *Job) {
	var group sync.WaitGroup
	for range 6 {
		group.Go(func() {
			for {
				if _, err := j.Run(context.Background(), "hello", MaxTokens(3)); err != nil {
					if !errors.Is(err, ErrClosed) {
						t.Error(err)
					}
					return
				}
			}
		})
		group.Go(func() {
			for j.Status().State == "healthy" {
				if _, err := j.Describe(context.Background(), 1); err != nil {
					return
				}
			}
		})
	}
	if err := func() error { _, err := j.Run(t.Context(), "x", MaxTokens(20)); return err }(); err != nil {
		t.Error(err)
	}
	if err := j.Close(); err != nil {
		t.Error(err)
	}
	group.Wait()
}
