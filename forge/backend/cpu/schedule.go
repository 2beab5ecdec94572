package cpu

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"forgekernel/forge/ir"
	"forgekernel/forge/loop"
	"forgekernel/forge/tensor"
)

// Schedule says how a kernel is cut. A field that is 0 leaves its choice to the
// backend. In text it reads "tile=8x3 block=64 unroll=2 width=16", which
// [ParseSchedule] reads again.
type Schedule struct {
	// Form is how a contraction walks its second matrix: in "tiles" of results,
	// "sweeps" over its rows or "dots" along its columns. A convolution takes the
	// "lines" of an image one by one, or "flat", as if they were one.
	Form          string
	Rows, Vectors int // of the register tile: rows of a contraction, channels of a convolution
	// Block is the number of rows of a contraction that meet all columns before the
	// next rows do: few keep the rows in a near cache, all of them the columns.
	Block  int
	Chains int // sums that each result of a contraction is split into
	Unroll int // rounds of all chains in one of the loop of a contraction
	Keys   int // of an attention, in a block
	// Split is the number of chunks that threads share; 1 keeps a kernel on one
	// thread, and 0 is as many as its estimated time makes worth it.
	Split int
	Width int // floats in a vector
}

// Schedules are those of kernels by shape; see [Step].
type Schedules map[string]Schedule

// knobs are the parts of a schedule with one number, in the order of the text.
var knobs = []struct {
	name string
	most int
	of   func(*Schedule) *int
}{
	{"block", 1 << 30, func(s *Schedule) *int { return &s.Block }},
	{"chains", 8, func(s *Schedule) *int { return &s.Chains }},
	{"unroll", 8, func(s *Schedule) *int { return &s.Unroll }},
	{"keys", 1 << 20, func(s *Schedule) *int { return &s.Keys }},
	{"split", 8 * MaxThreads, func(s *Schedule) *int { return &s.Split }},
	{"width", 16, func(s *Schedule) *int { return &s.Width }},
}

// allForms are those of contractions and of convolutions.
var allForms = []form{inTiles, inSweeps, inDots, lineForm, flatForm}

// maxSwept bounds the rows of sweeps, whose elements stay in registers.
const maxSwept = 8

// maxTile bounds the rows and the vectors of a register tile.
const maxTile = 16

// String is the text form; "default" for the zero schedule.
func (s Schedule) String() string {
	var parts []string
	if s.Form != "" {
		parts = append(parts, "form="+s.Form)
	}
	if s.Rows > 0 {
		parts = append(parts, fmt.Sprintf("tile=%dx%d", s.Rows, s.Vectors))
	}
	for _, k := range knobs {
		if n := *k.of(&s); n > 0 {
			parts = append(parts, fmt.Sprintf("%s=%d", k.name, n))
		}
	}
	if len(parts) == 0 {
		return "default"
	}
	return strings.Join(parts, " ")
}

// ParseSchedule reads the text form of a schedule.
func ParseSchedule(text string) (Schedule, error) {
	var s Schedule
	if text == s.String() {
		return s, nil
	}
	for _, part := range strings.Fields(text) {
		if err := s.set(part); err != nil {
			return Schedule{}, err
		}
	}
	if s.String() != text {
		return Schedule{}, fmt.Errorf("%q is not a schedule as it is written, which is %q", text, s)
	}
	return s, nil
}

// set reads one part of the text form.
func (s *Schedule) set(part string) error {
	name, value, _ := strings.Cut(part, "=")
	number := func(text string, most int) (int, error) {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > most {
			return 0, fmt.Errorf("%q in a schedule: there a number from 1 to %d is needed", part, most)
		}
		return n, nil
	}
	var err error
	switch name {
	case "form":
		if s.Form = value; !slices.Contains(allForms, form(value)) {
			return fmt.Errorf("%q in a schedule: the forms are %v", part, allForms)
		}
		return nil
	case "tile":
		rows, vectors, _ := strings.Cut(value, "x")
		if s.Rows, err = number(rows, maxTile); err != nil {
			return err
		}
		s.Vectors, err = number(vectors, maxTile)
		return err
	}
	for _, k := range knobs {
		if k.name == name {
			*k.of(s), err = number(value, k.most)
			return err
		}
	}
	return fmt.Errorf("a schedule has no part %q", part)
}

// MarshalText and UnmarshalText are the text form in JSON.
func (s Schedule) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (s *Schedule) UnmarshalText(text []byte) (err error) {
	*s, err = ParseSchedule(string(text))
	return err
}

// Check refuses a schedule that no kernel can have on the target.
func (t Target) Check(s Schedule) error {
	if w := s.Width; w != 0 && (w > t.Lanes || w < minLanes || w&(w-1) != 0) {
		return fmt.Errorf("%s has no vectors of %d floats", t.Name, w)
	}
	if s.Form == string(inSweeps) || s.Form == string(inDots) {
		return nil // their tiles are the backend's own
	}
	if c := max(s.Chains, 1); s.Rows*s.Vectors*c+s.Vectors >= t.Registers || c&(c-1) != 0 {
		return fmt.Errorf("%s has %d vector registers, which %d chains of tiles of %dx%d do not fit", t.Name, t.Registers, c, s.Rows, s.Vectors)
	}
	return nil
}

// decide completes a schedule for a kernel: every field that matters to it is set,
// to what the schedule asks for or to the backend's own choice, and no other.
// Parts that ask for more than the kernel has are cut down to it, so that schedules
// that make the same code are equal. Kernels that compute in other types than f32
// are as the backend chooses.
func (t Target) decide(k *loop.Kernel, packed bool, want Schedule) (Schedule, tiling) {
	asked := want
	if !isSingle(k) {
		want = Schedule{Split: want.Split}
	}
	s := Schedule{Width: cmp.Or(want.Width, t.Lanes), Split: want.Split}
	switch t := t.narrowed(s.Width); {
	case k.Convolution != nil:
		if k.Convolution.Elem != tensor.F32 {
			asked = Schedule{}
		}
		cut := t.windowingFor(k.Convolution, asked).schedule()
		cut.Width, cut.Split = s.Width, s.Split
		return cut, tiling{}
	case k.Contraction != nil:
		c := k.Contraction
		cut := t.cut(c, packed, want)
		s.Form, s.Rows, s.Vectors = string(cut.form), cut.rows, cut.vector
		if cut.form == inTiles {
			s.Chains, s.Unroll, s.Block = cut.chains, cut.unroll, c.M
			if cut.block > 0 {
				s.Block = cut.block * cut.rows
			}
		}
		return s, cut
	case k.Attention != nil:
		s.Keys = t.planAttention(k, asked.Keys).keys
	}
	return s, tiling{}
}

// isSingle reports whether a kernel computes in f32 alone, and with nothing but what
// the narrower vectors have.
func isSingle(k *loop.Kernel) bool {
	is := k.Convolution == nil && k.Attention == nil
	for _, p := range k.Params {
		is = is && p.DType() == tensor.F32
	}
	check := func(x *loop.Expr) { is = is && x.Type == tensor.F32 }
	switch {
	case k.Nest != nil:
		for _, s := range k.Nest.Stages {
			s.Expr.Walk(check)
			is = is && s.Reduce != loop.Max && s.Reduce != loop.Min
		}
	case k.Contraction != nil && k.Contraction.Epilogue != nil:
		k.Contraction.Epilogue.Walk(check)
	}
	return is
}

// cut is how a contraction is cut under a schedule.
func (t Target) cut(c *loop.Contraction, packed bool, want Schedule) tiling {
	cut := t.tileFor(c, packed)
	if want == (Schedule{Width: want.Width, Split: want.Split}) {
		return cut
	}
	switch f := form(want.Form); {
	case f == "" || f == cut.form:
	case f == inDots && !packed && c.Elem != tensor.F64:
		return dotsFor(c)
	case f == inSweeps && !packed && c.M <= maxSwept:
		return sweepsFor(c)
	}
	if cut.form != inTiles && want.Form != string(inTiles) {
		return cut
	}
	switch first := shapes[t.Registers][0]; {
	case want.Rows > 0:
		cut = tiling{form: inTiles, rows: want.Rows, vector: want.Vectors}
	case cut.form != inTiles:
		cut = tiling{form: inTiles, rows: first[0], vector: first[1]}
	}
	cut = t.fit(c, packed, cut)
	if c.Elem != tensor.F64 { // whose sums keep their order
		cut.chains = cmp.Or(want.Chains, cut.chains)
	}
	for 2*cut.chains > max(c.K, 2) {
		cut.chains /= 2
	}
	cut.unroll = min(cmp.Or(want.Unroll, 1), max(1, c.K/cut.chains))
	switch {
	case want.Block >= c.M:
		cut.block = 0
	case want.Block > 0:
		cut.block = max(1, want.Block/max(1, cut.rows))
	}
	return cut
}

// shapeOf names what the code of a kernel depends on besides its schedule: its
// operator and loops for people, and a hash of all.
func shapeOf(k *loop.Kernel, packed bool) string {
	bare := *k
	bare.Params = make([]loop.Param, len(k.Params))
	for i, p := range k.Params {
		bare.Params[i] = loop.Param{Value: &ir.Value{Name: fmt.Sprint(i), Spec: ir.Spec{DType: p.DType()}}, Written: p.Written}
	}
	sum := sha256.Sum256(fmt.Append(nil, bare.String(), packed))
	return fmt.Sprintf("%s %s #%s", k.Op, extent(k), hex.EncodeToString(sum[:4]))
}

// extent is the loops of a kernel: batch, M, N and K of a contraction; batch,
// heads, queries, keys and channels of an attention; images, groups, channels, results
// and taps of a convolution.
func extent(k *loop.Kernel) string {
	var dims []int
	switch {
	case k.Contraction != nil:
		c := k.Contraction
		dims = append(append(dims, c.Batch...), c.M, c.N, c.K)
	case k.Convolution != nil:
		c := k.Convolution
		dims = append(dims, c.Images, c.Groups, c.Outputs, c.Inputs, c.V.Out, c.H.Out, c.V.Taps, c.H.Taps)
	case k.Attention != nil:
		a := k.Attention
		dims = append(dims, a.Batches, a.Heads, a.Queries, a.Keys, a.D)
	default:
		dims = append(append(dims, k.Nest.Outer...), k.Nest.Line...)
	}
	if len(dims) == 0 {
		return "scalar"
	}
	texts := make([]string, len(dims))
	for i, d := range dims {
		texts[i] = strconv.Itoa(d)
	}
	return strings.Join(texts, "x")
}
