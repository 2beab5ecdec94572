package nebula

import (
	"fmt"
	"slices"
	"time"

	"forgekernel/nebula/sample"
	"forgekernel/nebula/sched"
)

// RequestOption is a choice about a request. Without any, its tokens are the
// likeliest ones, until the model ends the text or the context is full.
type RequestOption func(*request)

type request struct {
	sample.Params
	stopTokens bool // Params.StopTokens were given
	timeout    time.Duration
}

// newRequest applies options. What ends a text is the model's own, unless they say
// otherwise.
func newRequest(m *Model, list []RequestOption) (request, error) {
	var r request
	for _, set := range list {
		set(&r)
	}
	if t := m.Tokenizer(); t != nil && !r.stopTokens {
		r.StopTokens = t.EOS()
	}
	if r.timeout < 0 {
		return r, fmt.Errorf("a timeout of %v", r.timeout)
	}
	return r, r.Params.Check()
}

// submission is what is sent. Stop strings stay here, where the text is made.
func (r request) submission(prompt []int32) sched.Request {
	s := sched.Request{Prompt: prompt, Params: r.Params}
	s.Params.Stop = nil
	if r.timeout > 0 {
		s.Deadline = time.Now().Add(r.timeout)
	}
	return s
}

// MaxTokens is how many tokens to generate at most.
func MaxTokens(n int) RequestOption { return func(r *request) { r.Params.MaxTokens = n } }

// Temperature above 0 draws tokens by their probability, flatter the higher it is;
// 0 takes the likeliest.
func Temperature(t float64) RequestOption { return func(r *request) { r.Params.Temperature = t } }

// TopK draws among the k likeliest tokens.
func TopK(k int) RequestOption { return func(r *request) { r.Params.TopK = k } }

// TopP draws among the fewest likeliest tokens that have the probability p together.
func TopP(p float64) RequestOption { return func(r *request) { r.Params.TopP = p } }

// MinP draws among tokens that have the share p of the likeliest one's probability.
func MinP(p float64) RequestOption { return func(r *request) { r.Params.MinP = p } }

// RepetitionPenalty above 1 makes tokens that occurred less likely.
func RepetitionPenalty(p float64) RequestOption {
	return func(r *request) { r.Params.RepetitionPenalty = p }
}

// Seed decides the draws: one seed, one sequence.
func Seed(n uint64) RequestOption { return func(r *request) { r.Params.Seed = n } }

// Stop ends the text before the first of some texts that occurs in it.
func Stop(texts ...string) RequestOption {
	return func(r *request) { r.Params.Stop = slices.Clone(texts) }
}

// StopTokens are the tokens that end the text, in place of the model's own; none at
// all let it go on until [MaxTokens].
func StopTokens(ids ...int32) RequestOption {
	return func(r *request) { r.Params.StopTokens, r.stopTokens = slices.Clone(ids), true }
}

// LogProbs asks for the log-probabilities of each token and of the n likeliest ones in
// its place.
func LogProbs(n int) RequestOption { return func(r *request) { r.Params.LogProbs = n } }

// Timeout ends the request after some time.
func Timeout(d time.Duration) RequestOption { return func(r *request) { r.timeout = d } }
