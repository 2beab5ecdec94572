package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"forgekernel/nebula/engine"
	"forgekernel/nebula/job"
	"forgekernel/nebula/model"
	"forgekernel/nebula/sample"
	"forgekernel/nebula/sched"
	"forgekernel/nebula/serve"
	"forgekernel/nebula/shard"
	"forgekernel/nebula/token"
)

// promptsJSON are what the demo continues: ten prompts whose continuations llama.cpp
// gives alike with the file as it is and in f32, and some, marked as close, for which
// it does not. Of some forty prompts that were tried, half are of either kind.
//
//go:embed testdata/prompts.json
var promptsJSON []byte

// alice is the beginning of Lewis Carroll's "Alice's Adventures in Wonderland" of
// 1865, which is in the public domain.
//
//go:embed testdata/alice.txt
var alice string

const (
	length = 34 // tokens of each continuation
	// perplexityTolerance is how far ours may be from that of llama.cpp on the same
	// file, relative to it.
	perplexityTolerance = 0.01
	startLimit          = 2 * time.Minute
)

// prompt is a text to be continued.
type prompt struct {
	Kind   string `json:"kind"`
	Text   string `json:"text"`
	Close  bool   `json:"close"` // llama.cpp's rounding of activations changes what follows
	tokens []int32
}

// subject is the model of a GGUF file and what else the demo needs of it.
type subject struct {
	python, path, work string
	model              *model.Model
	text               *token.Tokenizer
	prompts            []prompt
	said               io.Writer // what is being done, for one who waits; nil for nobody
}

// doing says what is done next, and returns what says how long it took.
func (s *subject) doing(what string) (done func()) {
	if s.said == nil {
		return func() {}
	}
	fmt.Fprintf(s.said, "%s ... ", what)
	begin := time.Now()
	return func() { fmt.Fprintf(s.said, "%.1f s\n", time.Since(begin).Seconds()) }
}

func demoCommand() *cobra.Command {
	var s subject
	c := &cobra.Command{Use: "demo", Short: "Continue prompts beside llama.cpp", Args: cobra.NoArgs, RunE: func(c *cobra.Command, _ []string) error {
		if err := s.open(); err != nil {
			return err
		}
		defer s.model.Close()
		s.said = c.ErrOrStderr()
		return s.demo(c.Context(), c.OutOrStdout())
	}}
	s.flags(c)
	return c
}

// flags are those of commands that run the model beside others.
func (s *subject) flags(c *cobra.Command) {
	c.Flags().StringVar(&s.python, "python", "python3", "interpreter that has the other libraries")
	c.Flags().StringVar(&s.path, "model", "", "GGUF file of the model")
	c.Flags().StringVar(&s.work, "work", "build/peers", "folder for the model in the form of others")
	if err := c.MarkFlagRequired("model"); err != nil {
		panic(err) // the flag is there
	}
}

func (s *subject) open() (err error) {
	if s.text, err = token.Open(s.path); err != nil {
		return err
	}
	if err := json.Unmarshal(promptsJSON, &s.prompts); err != nil {
		return err
	}
	for i := range s.prompts {
		if s.prompts[i].tokens, err = s.text.Encode(s.prompts[i].Text, true); err != nil {
			return err
		}
	}
	s.model, err = model.Open(s.path)
	return err
}

// form is the file of the model in an element type, for another library.
func (s *subject) form(ctx context.Context, dtype, ending string) (string, error) {
	return converted(ctx, s.python, s.path, dtype, filepath.Join(s.work, "smollm2-"+dtype+ending))
}

// demo compares, shows, and returns everything that is not as it should be.
//
// The file has weights of four bits. llama.cpp multiplies these with activations that
// it rounds to eight bits, as we do not; so its continuations may part from ours, and
// from its own, where two tokens are nearly as likely. With the same weights in f32
// nothing is rounded, and all continuations must be equal; with the file as it is,
// those of prompts that are not close.
func (s *subject) demo(ctx context.Context, w io.Writer) error {
	done := s.doing(fmt.Sprintf("Nebula continues %d prompts side by side, and compiles what they need", len(s.prompts)))
	ours, err := s.locally(ctx)
	if err != nil {
		return err
	}
	done()
	done = s.doing("the weights in f32 for llama.cpp")
	wide, err := s.form(ctx, "f32", ".gguf")
	if err != nil {
		return err
	}
	done()
	done = s.doing("llama.cpp in f32, one prompt after another, and the text")
	exact, exactLoss, err := s.llama(ctx, wide, "exact")
	if err != nil {
		return err
	}
	done()
	done = s.doing("llama.cpp with the file as it is")
	same, sameLoss, err := s.llama(ctx, s.path, "default")
	if err != nil {
		return err
	}
	done()
	var wrong []error
	for i, p := range s.prompts {
		s.show(w, p, ours[i], same[i])
		if d := parting(ours[i], exact[i]); d.at >= 0 {
			wrong = append(wrong, fmt.Errorf("prompt %q in f32: %v", p.Kind, d))
		}
		if d := parting(ours[i], same[i]); d.at >= 0 && !p.Close {
			wrong = append(wrong, fmt.Errorf("prompt %q with the file as it is: %v", p.Kind, d))
		}
	}
	fmt.Fprintf(w, "\nOf %d prompts, continued by %d tokens each:\n", len(s.prompts), length)
	report(w, "llama.cpp, the same weights in f32", s.prompts, ours, exact)
	report(w, "llama.cpp, the file as it is, activations in 8 bits", s.prompts, ours, same)
	report(w, "llama.cpp in f32 and llama.cpp with the file as it is", s.prompts, exact, same)
	wrong = append(wrong, s.perplexity(ctx, w, exactLoss, sameLoss), s.apart(ctx, w, ours))
	return errors.Join(wrong...)
}

// continuation is the text that follows a prompt, with what each token was ahead of
// the second likeliest.
type continuation struct {
	tokens  []int32
	margins []float64
}

// spec is the job of one rank or several.
func (s *subject) spec(l shard.Layout) job.Spec {
	return job.Spec{Layout: l, Engine: engine.Options{Context: 512, Blocks: 256, MaxRows: 16, MaxTokens: 128}}
}

// locally continues all prompts at once on one rank.
func (s *subject) locally(ctx context.Context) ([]continuation, error) {
	l, err := job.Local(ctx, s.model, s.spec(shard.Layout{TP: 1, PP: 1}), nil)
	if err != nil {
		return nil, err
	}
	list, err := s.continued(ctx, l)
	return list, errors.Join(err, l.Close())
}

// continued asks a job for the continuations of all prompts at once.
func (s *subject) continued(ctx context.Context, job serve.Service) ([]continuation, error) {
	var streams []*sched.Stream
	for _, p := range s.prompts {
		stream, err := job.Submit(ctx, sched.Request{Prompt: p.tokens, Params: sample.Params{MaxTokens: length}})
		if err != nil {
			return nil, err
		}
		defer stream.Close()
		streams = append(streams, stream)
	}
	list := make([]continuation, len(streams))
	for i, stream := range streams {
		for e := range stream.Events() {
			if e.Finish != nil {
				if e.Finish.Err != nil {
					return nil, e.Finish.Err
				}
				break
			}
			list[i].tokens, list[i].margins = append(list[i].tokens, e.Token), append(list[i].margins, e.Margin)
		}
	}
	return list, nil
}

// llama asks llama.cpp for the same, and for the loss of each token of the text. It
// has to see the same tokens.
func (s *subject) llama(ctx context.Context, path, mode string) (list []continuation, losses []float64, err error) {
	p, err := openPeer(ctx, s.python, "llama.cpp", path, 1, mode)
	if err != nil {
		return nil, nil, err
	}
	defer p.close()
	for _, prompt := range s.prompts {
		r, err := p.ask(ctx, question{Op: "tokens", Text: prompt.Text})
		if err != nil {
			return nil, nil, err
		}
		if fmt.Sprint(r.Tokens) != fmt.Sprint(prompt.tokens) {
			return nil, nil, fmt.Errorf("prompt %q is %v to llama.cpp and %v to us", prompt.Kind, r.Tokens, prompt.tokens)
		}
		if r, err = p.ask(ctx, question{Op: "greedy", Tokens: prompt.tokens, N: length}); err != nil {
			return nil, nil, err
		}
		list = append(list, continuation{r.Tokens, r.Margins})
	}
	tokens, err := s.text.Encode(alice, true)
	if err != nil {
		return nil, nil, err
	}
	r, err := p.ask(ctx, question{Op: "loss", Tokens: tokens})
	return list, r.Loss, err
}

// perplexity compares what the text is to us and to llama.cpp.
func (s *subject) perplexity(ctx context.Context, w io.Writer, exact, same []float64) error {
	tokens, err := s.text.Encode(alice, true)
	if err != nil {
		return err
	}
	ours, err := losses(ctx, s.model, tokens)
	if err != nil {
		return err
	}
	a, b, c := perplexityOf(ours), perplexityOf(exact), perplexityOf(same)
	fmt.Fprintf(w, "\nPerplexity of %d tokens of Alice: %.4f here, %.4f in llama.cpp with the same weights in f32 (%+.4f %%), %.4f with the file as it is (%+.3f %%)\n",
		len(tokens)-1, a, b, 100*(a/b-1), c, 100*(a/c-1))
	if len(ours) != len(same) || !(math.Abs(a/c-1) <= perplexityTolerance) || !(math.Abs(a/b-1) <= perplexityTolerance) {
		return fmt.Errorf("the perplexity is more than %.0f %% away from that of llama.cpp", 100*perplexityTolerance)
	}
	return nil
}

// apart continues the prompts on two ranks that are processes, which divide every
// layer, and on two of which each has half of the layers.
func (s *subject) apart(ctx context.Context, w io.Writer, ours []continuation) error {
	var wrong []error
	fmt.Fprintln(w)
	for _, l := range []shard.Layout{{TP: 2, PP: 1}, {TP: 1, PP: 2}} {
		done := s.doing(fmt.Sprintf("two processes, %v", l))
		list, err := s.processes(ctx, l)
		if err != nil {
			return err
		}
		done()
		report(w, fmt.Sprintf("two processes, %v", l), s.prompts, ours, list)
		for i, p := range s.prompts {
			if d := parting(ours[i], list[i]); d.at >= 0 {
				wrong = append(wrong, fmt.Errorf("prompt %q with %v: %v", p.Kind, l, d))
			}
		}
	}
	return errors.Join(wrong...)
}

func (s *subject) processes(ctx context.Context, l shard.Layout) ([]continuation, error) {
	start, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	spec := s.spec(l)
	spec.Deadline = startLimit // programs are compiled when a step first needs them
	p, err := job.Start(start, s.model, spec)
	if err != nil {
		return nil, err
	}
	list, err := s.continued(ctx, p)
	return list, errors.Join(err, p.Close())
}
