package sample

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// Choice is a token that was chosen.
type Choice struct {
	Token   int32
	Stop    bool    // it is one of the stop tokens
	Margin  float64 // by which the best score exceeds the second, after the repetition penalty
	LogProb float64 // of the token, in the model's own distribution: no penalty, no temperature, nothing cut; 0 without LogProbs
	Top     []TokenProb
}

// TokenProb is a token and the natural logarithm of its probability.
type TokenProb struct {
	Token   int32
	LogProb float64
}

// Sampler chooses the tokens of one request. It is not for several goroutines.
type Sampler struct {
	p        Params
	vocab    int
	position uint64
	occurred []int32  // tokens of the prompt and of the generation, each once
	seen     []uint64 // a bit for each token that occurred
	scores   []float32
	pool     []entry // the tokens that may still be chosen
	scratch  []entry // those of them that have to be ordered
}

// New makes the sampler of a request whose model gives vocab logits. The tokens of the
// prompt count as repeated.
func New(p Params, vocab int, prompt []int32) (*Sampler, error) {
	if err := p.Check(); err != nil {
		return nil, err
	}
	if vocab < 1 || vocab > math.MaxInt32 {
		return nil, fmt.Errorf("a vocabulary of %d tokens", vocab)
	}
	for _, ids := range [][]int32{p.StopTokens, prompt} {
		for _, id := range ids {
			if id < 0 || int(id) >= vocab {
				return nil, fmt.Errorf("there is no token %d in a vocabulary of %d", id, vocab)
			}
		}
	}
	s := &Sampler{p: p, vocab: vocab}
	if s.penalises() {
		s.seen, s.scores = make([]uint64, (vocab+63)/64), make([]float32, vocab)
		for _, id := range prompt {
			s.note(id)
		}
	}
	return s, nil
}

func (s *Sampler) penalises() bool { return s.p.RepetitionPenalty != 0 && s.p.RepetitionPenalty != 1 }

// Next chooses a token by the logits of the last position, which it does not change.
// The choice is the next one's repetition, and one draw is used up.
func (s *Sampler) Next(logits []float32) (Choice, error) {
	if len(logits) != s.vocab {
		return Choice{}, fmt.Errorf("there are %d logits for a vocabulary of %d", len(logits), s.vocab)
	}
	scores := s.penalised(logits)
	best, margin, err := leading(scores)
	if err != nil {
		return Choice{}, err
	}
	c := Choice{Token: best, Margin: margin}
	if s.p.Temperature > 0 {
		c.Token = draw(s.candidates(scores, scores[best]), uniform(s.p.Seed, s.position))
	}
	if s.p.LogProbs > 0 {
		if s.penalises() {
			best, _, _ = leading(logits) // which are numbers, as the scores are
		}
		c.Top, c.LogProb = logProbs(logits, s.p.LogProbs, logits[best], c.Token)
	}
	c.Stop = slices.Contains(s.p.StopTokens, c.Token)
	s.position++
	if s.penalises() {
		s.note(c.Token)
	}
	return c, nil
}

// Led reports whether [Sampler.Take] does for [Sampler.Next]: the choice is greedy, without
// a penalty and log-probabilities.
func (s *Sampler) Led() bool { return s.p.Temperature == 0 && s.p.LogProbs == 0 && !s.penalises() }

// Take is Next of a sampler that is led, given the lead of the logits in place of all of
// them. That one of the others is no number goes unseen, if it is not above them.
func (s *Sampler) Take(l Lead) (Choice, error) {
	if !s.Led() {
		return Choice{}, errors.New("the choice needs all logits")
	}
	if l.Token < 0 || int(l.Token) >= s.vocab {
		return Choice{}, fmt.Errorf("there is no token %d in a vocabulary of %d", l.Token, s.vocab)
	}
	if l.First-l.First != 0 {
		return Choice{}, fmt.Errorf("logit %d is %v", l.Token, l.First)
	}
	if l.Second > l.First || l.Second != l.Second {
		return Choice{}, fmt.Errorf("a logit is %v, and the largest is %v", l.Second, l.First)
	}
	s.position++
	return Choice{Token: l.Token, Margin: float64(l.First) - float64(l.Second), Stop: slices.Contains(s.p.StopTokens, l.Token)}, nil
}

func (s *Sampler) note(id int32) {
	if s.seen[id/64]>>(id%64)&1 == 0 {
		s.seen[id/64] |= 1 << (id % 64)
		s.occurred = append(s.occurred, id)
	}
}

// penalised is the logits after the repetition penalty.
func (s *Sampler) penalised(logits []float32) []float32 {
	if !s.penalises() {
		return logits
	}
	copy(s.scores, logits)
	for _, id := range s.occurred {
		if v := float64(logits[id]); v > 0 {
			s.scores[id] = float32(v / s.p.RepetitionPenalty)
		} else {
			s.scores[id] = float32(v * s.p.RepetitionPenalty)
		}
	}
	return s.scores
}

// candidates are the tokens that may be drawn, in the order of ids, with weights in
// proportion to their probabilities: the best has 1.
func (s *Sampler) candidates(scores []float32, best float32) []entry {
	if k := s.p.TopK; k > 0 && k < len(scores) {
		s.topK(scores, k)
	} else {
		s.pool = slices.Grow(s.pool[:0], len(scores))
		for i, v := range scores {
			s.pool = append(s.pool, entry{0, v, int32(i)})
		}
	}
	total := 0.0
	for i, e := range s.pool {
		w := math.Exp((float64(e.score) - float64(best)) / s.p.Temperature)
		s.pool[i].weight = w
		total += w
	}
	if p := s.p.TopP; p > 0 && p < 1 {
		s.topP(p, total)
	}
	if s.p.MinP > 0 {
		s.pool = slices.DeleteFunc(s.pool, func(e entry) bool { return e.weight < s.p.MinP })
	}
	return s.pool
}

// draw is the token at the share u of the weights.
func draw(pool []entry, u float64) int32 {
	total := 0.0
	for _, e := range pool {
		total += e.weight
	}
	last, sum := int32(0), 0.0
	for _, e := range pool {
		if e.weight == 0 {
			continue
		}
		last = e.id
		if sum += e.weight; sum > u*total {
			break
		}
	}
	return last
}
