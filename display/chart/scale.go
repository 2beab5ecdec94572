package chart

import (
	"math"
	"slices"
)

// scale maps the positions of an axis to a length in CSS pixels.
type scale struct {
	min, max float64
	log      bool
	reverse  bool
	length   float64
}

// at is where x stands, from the left or from the top.
func (s scale) at(x float64) float64 {
	where := (x - s.min) / (s.max - s.min)
	if s.log {
		where = math.Log(x/s.min) / math.Log(s.max/s.min)
	}
	switch {
	case math.IsInf(x, -1):
		where = 0
	case math.IsInf(x, 1):
		where = 1
	}
	if s.reverse {
		where = 1 - where
	}
	return where * s.length
}

// from is the position that stands somewhere: the inverse of at.
func (s scale) from(at float64) float64 {
	where := at / s.length
	if s.reverse {
		where = 1 - where
	}
	if s.log {
		return s.min * math.Pow(s.max/s.min, where)
	}
	return s.min + where*(s.max-s.min)
}

// end replaces an infinite position by the end of the axis.
func (s scale) end(x float64) float64 {
	switch {
	case math.IsInf(x, -1):
		return s.min
	case math.IsInf(x, 1):
		return s.max
	}
	return x
}

// holds reports whether x is on the axis, or at its end but for rounding.
func (s scale) holds(x float64) bool {
	at := s.at(x)
	return at >= -1e-6 && at <= s.length+1e-6
}

// scale is that of the axis for the positions of its marks.
func (a Axis) scale(length float64, positions []float64) scale {
	s := scale{min: a.Min, max: a.Max, log: a.Log, reverse: a.Reverse, length: length}
	if a.Min != 0 || a.Max != 0 {
		return s
	}
	s.min, s.max = math.Inf(1), math.Inf(-1)
	for _, x := range positions {
		if !math.IsInf(x, 0) {
			s.min, s.max = min(s.min, x), max(s.max, x)
		}
	}
	switch {
	case s.min > s.max && a.Log:
		s.min, s.max = 1, 10
	case s.min > s.max:
		s.min, s.max = 0, 1
	case a.Log:
		s.min, s.max = s.min/1.15, s.max*1.15
	case s.min == s.max && s.min == 0:
		s.max = 1
	case s.min >= 0 && s.min < s.max/3 || s.min == s.max && s.min > 0:
		s.min, s.max = 0, s.max*1.05
	case s.max <= 0:
		s.min, s.max = s.min*1.05, 0
	default:
		pad := (s.max - s.min) * 0.05
		s.min, s.max = s.min-pad, s.max+pad
	}
	return s
}

// ticks are the labelled positions of the axis: its own, or about as many round
// numbers as have room.
func (a Axis) ticks(s scale, room int) []Tick {
	if a.Ticks != nil {
		return slices.DeleteFunc(slices.Clone(a.Ticks), func(t Tick) bool { return !s.holds(t.At) })
	}
	var at []float64
	if a.Log {
		at = a.decades(s, room)
	}
	if len(at) < 2 {
		at = a.even(s, room)
	}
	list := make([]Tick, len(at))
	for i, x := range at {
		list[i] = Tick{x, a.Unit.Format(x)}
	}
	return list
}

// wholeNumbers are those that floats count without a gap.
const wholeNumbers = 1 << 52

// even are the multiples of a round step; none where the axis is too short for its
// distance from 0.
func (a Axis) even(s scale, room int) (list []float64) {
	step := a.step((s.max - s.min) / float64(max(room, 1)))
	from, to := math.Ceil(s.min/step-1e-9), math.Floor(s.max/step+1e-9)
	if !(math.Abs(from) < wholeNumbers && math.Abs(to) < wholeNumbers) {
		return nil
	}
	for n := from; n <= to; n++ {
		list = append(list, n*step+0) // no negative zero
	}
	return list
}

// step is the least round number that is not below x: 1, 2 or 5 times a power of
// ten, or a power of two of bytes.
func (a Axis) step(x float64) float64 {
	if a.Unit == Bytes {
		return max(1, math.Exp2(math.Ceil(math.Log2(x)-1e-9)))
	}
	power := math.Pow(10, math.Floor(math.Log10(x)))
	for _, m := range []float64{1, 2, 5} {
		if m*power >= x*(1-1e-9) {
			return m * power
		}
	}
	return 10 * power
}

// decades are round numbers of a logarithmic axis: 1, 2 and 5 times the powers of
// ten, or fewer of them; powers of two of bytes.
func (a Axis) decades(s scale, room int) []float64 {
	base, sets := 10.0, [][]float64{{1, 2, 5}, {1, 3}, {1}}
	if a.Unit == Bytes {
		base, sets = 2, [][]float64{{1}}
	}
	from, to := int(math.Floor(math.Log(s.min)/math.Log(base))), int(math.Ceil(math.Log(s.max)/math.Log(base)))
	for _, set := range sets {
		if list := powers(s, base, set, from, to, 1); len(list) <= room {
			return list
		}
	}
	for every := 2; ; every++ {
		if list := powers(s, base, []float64{1}, from, to, every); len(list) <= max(room, 2) {
			return list
		}
	}
}

func powers(s scale, base float64, factors []float64, from, to, every int) (list []float64) {
	for e := from; e <= to; e++ {
		if e%every != 0 {
			continue
		}
		for _, m := range factors {
			if x := m * math.Pow(base, float64(e)); x >= s.min*(1-1e-9) && x <= s.max*(1+1e-9) {
				list = append(list, x)
			}
		}
	}
	return list
}
