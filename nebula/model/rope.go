package model

import (
	"errors"
	"fmt"
	"math"
)

// Scaling is how rotary frequencies are changed to reach longer contexts.
type Scaling string

// Scalings. Each is that of the Hugging Face rope_type of the same name.
// (Its type "dynamic" changes frequencies only beyond the original context,
// which is where our Context ends: there it is NoScaling.)
const (
	NoScaling Scaling = ""
	Linear    Scaling = "linear" // all frequencies divided by Factor
	Llama3    Scaling = "llama3" // low frequencies divided, high ones kept, a ramp between
	YaRN      Scaling = "yarn"   // the same by number of rotations, and sharper attention
	// Factors divides each frequency by a number of its own.
	Factors Scaling = "factors"
)

// Rope describes rotary positions: pair i of the D channels of a head turns by
// position * Base^(-2i/D), scaled.
type Rope struct {
	Base    float64 `json:"base"`
	Scaling Scaling `json:"scaling,omitempty"`
	// Interleaved pairs channels 2i and 2i+1 instead of i and i + D/2.
	Interleaved bool `json:"interleaved,omitempty"`

	Factor   float64 `json:"factor,omitempty"`           // Linear, Llama3, YaRN: at least 1
	Original int     `json:"original_context,omitempty"` // Llama3, YaRN: that the model was first trained for

	LowFactor  float64 `json:"low_factor,omitempty"`  // Llama3: wavelengths beyond Original/LowFactor are scaled
	HighFactor float64 `json:"high_factor,omitempty"` // Llama3: those below Original/HighFactor are kept

	BetaFast float64 `json:"beta_fast,omitempty"` // YaRN: pairs that turn more often in Original are kept
	BetaSlow float64 `json:"beta_slow,omitempty"` // YaRN: pairs that turn less often are scaled
	// Untruncated keeps the ends of YaRN's ramp as computed, not as whole pairs.
	Untruncated bool `json:"untruncated,omitempty"`
	// Attention is YaRN's factor of queries and keys; see [YaRNAttention].
	Attention float64 `json:"attention,omitempty"`

	Factors []float64 `json:"factors,omitempty"` // Factors: D/2 divisors
}

// YaRNAttention is the factor of queries and keys that YaRN's authors recommend
// for a scaling factor.
func YaRNAttention(factor float64) float64 {
	if factor <= 1 {
		return 1
	}
	return 0.1*math.Log(factor) + 1
}

func (r *Rope) check(dim int) error {
	if dim%2 != 0 {
		return fmt.Errorf("the %d channels of a head cannot turn in pairs", dim)
	}
	if !(r.Base > 1) || r.Base > maxRopeBase {
		return fmt.Errorf("base is %v; it must be above 1 and at most %v", r.Base, float64(maxRopeBase))
	}
	switch r.Scaling {
	case NoScaling:
		return nil
	case Factors:
		return r.checkFactors(dim / 2)
	case Linear, Llama3, YaRN:
	default:
		return fmt.Errorf("scaling %q is unknown; there are linear, llama3, yarn and factors", r.Scaling)
	}
	if !(r.Factor >= 1) || r.Factor > maxRopeBase {
		return fmt.Errorf("factor is %v; it must be at least 1", r.Factor)
	}
	if r.Scaling == Linear {
		return nil
	}
	if r.Original < 1 || r.Original > maxContext {
		return fmt.Errorf("original_context is %d; it must be 1 to %d", r.Original, maxContext)
	}
	if r.Scaling == Llama3 {
		if !(r.LowFactor > 0) || !(r.HighFactor > r.LowFactor) || r.HighFactor > maxRopeBase {
			return fmt.Errorf("low_factor %v and high_factor %v must be positive and rise", r.LowFactor, r.HighFactor)
		}
		return nil
	}
	if !(r.BetaSlow > 0) || !(r.BetaFast >= r.BetaSlow) || r.BetaFast > maxRopeBase {
		return fmt.Errorf("beta_slow %v and beta_fast %v must be positive and not fall", r.BetaSlow, r.BetaFast)
	}
	if !(r.Attention > 0) || r.Attention > maxRopeBase {
		return fmt.Errorf("attention is %v; it must be positive", r.Attention)
	}
	return nil
}

func (r *Rope) checkFactors(pairs int) error {
	if len(r.Factors) != pairs {
		return fmt.Errorf("there are %d factors for %d pairs of channels", len(r.Factors), pairs)
	}
	for _, f := range r.Factors {
		if !(f > 0) || math.IsInf(f, 1) {
			return errors.New("a factor is not positive and finite")
		}
	}
	return nil
}

// frequencies are the angles per position of each pair of a head with dim
// channels; nil when they are those of Base, unscaled.
func (r *Rope) frequencies(dim int) []float64 {
	if r.Scaling == NoScaling {
		return nil
	}
	freqs := make([]float64, dim/2)
	for i := range freqs {
		freqs[i] = r.scaled(i, math.Pow(r.Base, -2*float64(i)/float64(dim)), dim)
	}
	return freqs
}

func (r *Rope) scaled(pair int, f float64, dim int) float64 {
	switch r.Scaling {
	case Linear:
		return f / r.Factor
	case Factors:
		return f / r.Factors[pair]
	case Llama3:
		// Rotations in the original context: few are scaled, many are kept.
		turns := float64(r.Original) * f / (2 * math.Pi)
		return between(f/r.Factor, f, (turns-r.LowFactor)/(r.HighFactor-r.LowFactor))
	}
	low, high := r.turning(r.BetaFast, dim), r.turning(r.BetaSlow, dim)
	if !r.Untruncated {
		low, high = math.Floor(low), math.Ceil(high)
	}
	low, high = max(low, 0), min(high, float64(dim-1))
	if low == high {
		high += 0.001 // the published code's way to keep the ramp from dividing by zero
	}
	return between(f, f/r.Factor, (float64(pair)-low)/(high-low))
}

// turning is the pair, a real number, that turns so often in the original
// context.
func (r *Rope) turning(rotations float64, dim int) float64 {
	return float64(dim) * math.Log(float64(r.Original)/(rotations*2*math.Pi)) / (2 * math.Log(r.Base))
}

// between goes from a at 0 to b at 1 and is constant outside.
func between(a, b, at float64) float64 {
	at = min(max(at, 0), 1)
	return (1-at)*a + at*b
}

// sharpness is the factor of attention scores beyond 1/sqrt(D).
func (r *Rope) sharpness() float64 {
	if r == nil || r.Scaling != YaRN {
		return 1
	}
	return r.Attention * r.Attention
}
