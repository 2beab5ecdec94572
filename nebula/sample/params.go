// Package sample turns the logits of a decoder into its next token.
//
// A [Sampler] belongs to one request. It applies, in the order that Hugging Face's
// transformers has,
//
//	repetition penalty -> temperature -> top-k -> top-p -> min-p -> draw
//
// so top-p is about the probabilities after the temperature. (llama.cpp applies the
// temperature last.) Top-k, top-p and min-p each keep the likeliest tokens up to
// some token, so together they are one cut in the order of the tokens: by falling
// score, and by rising id where scores are equal. The draw goes through what is kept
// in the order of ids. A small change of the logits then moves the borders between
// tokens a little and does not shuffle them, which matters because sums over
// partitions of a model round differently.
//
// Draws depend on the seed and on the position of the token in the generation, and on
// nothing else: not on what is in the same batch, nor on which rank draws. The arithmetic
// is float64.
//
// [Stop] watches the text for stop strings.
package sample

import (
	"fmt"
	"math"
	"unicode/utf8"
)

// Limits of the parameters.
const (
	MaxLogProbs   = 20
	MaxStops      = 16  // stop strings
	MaxStop       = 256 // bytes of one
	MaxStopTokens = 256
	MaxPenalty    = 100
)

// Params are how a request wants its tokens chosen. The zero value is greedy: the
// likeliest token, until the context is full.
type Params struct {
	Temperature       float64  // divides the scores; 0: greedy, and TopK, TopP and MinP say nothing
	TopK              int      // keeps the k likeliest tokens; 0: all
	TopP              float64  // keeps the fewest likeliest tokens that have this probability together; 0 or 1: all
	MinP              float64  // keeps tokens that have this share of the likeliest one's probability; 0: all
	RepetitionPenalty float64  // divides positive scores of tokens that occurred, multiplies negative ones; 0 or 1: none
	Seed              uint64   // one seed, one sequence
	Stop              []string // texts that end the generation; they are not part of it
	StopTokens        []int32  // tokens that end it
	MaxTokens         int      // to generate; 0: until the context is full
	LogProbs          int      // of so many likeliest tokens, and of the chosen one; 0: none
}

// Check says what is wrong with the first parameter that is.
func (p Params) Check() error {
	switch {
	case !(p.Temperature >= 0) || math.IsInf(p.Temperature, 0):
		return fmt.Errorf("temperature is %v; it must be 0 (greedy) or positive", p.Temperature)
	case p.TopK < 0:
		return fmt.Errorf("top-k is %d; it must be 0 (all tokens) or positive", p.TopK)
	case !(p.TopP >= 0 && p.TopP <= 1):
		return fmt.Errorf("top-p is %v; it must be from 0 to 1, where 0 and 1 keep all tokens", p.TopP)
	case !(p.MinP >= 0 && p.MinP <= 1):
		return fmt.Errorf("min-p is %v; it must be from 0 (all tokens) to 1", p.MinP)
	case !(p.RepetitionPenalty >= 0 && p.RepetitionPenalty <= MaxPenalty):
		return fmt.Errorf("the repetition penalty is %v; it must be from 0 to %d, where 0 and 1 are none", p.RepetitionPenalty, MaxPenalty)
	case p.MaxTokens < 0:
		return fmt.Errorf("max tokens is %d; it must be 0 (until the context is full) or positive", p.MaxTokens)
	case p.LogProbs < 0 || p.LogProbs > MaxLogProbs:
		return fmt.Errorf("log-probabilities of %d tokens are asked for; from 0 to %d are given", p.LogProbs, MaxLogProbs)
	case len(p.Stop) > MaxStops:
		return fmt.Errorf("there are %d stop strings; at most %d are allowed", len(p.Stop), MaxStops)
	case len(p.StopTokens) > MaxStopTokens:
		return fmt.Errorf("there are %d stop tokens; at most %d are allowed", len(p.StopTokens), MaxStopTokens)
	}
	for i, s := range p.Stop {
		if s == "" || len(s) > MaxStop || !utf8.ValidString(s) {
			return fmt.Errorf("stop string %d is %.20q; it must be UTF-8 of 1 to %d bytes", i, s, MaxStop)
		}
	}
	return nil
}
