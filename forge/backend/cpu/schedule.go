package cpu

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"forgekernel/forge/ir"
	"forgekernel/forge/loop"
)

// Schedule says how a kernel is cut. A field that is 0 leaves its choice to the
// backend. In text it reads "tile=8x3 block=64 unroll=2 width=16", which
// [ParseSchedule] reads again.
type Schedule struct {
	Rows, Vectors int // of the register tile of a contraction
	// Block is the number of rows of a contraction that meet all columns before the
	// next rows do: few keep the rows in a near cache, all of them the columns.
	Block  int
	Unroll int // steps of the sum of a contraction in one round of its loop
	Keys   int // of an attention, whose scores are summed side by side
	Width  int // floats in a vector
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
	{"unroll", 8, func(s *Schedule) *int { return &s.Unroll }},
	{"keys", 16, func(s *Schedule) *int { return &s.Keys }},
	{"width", 16, func(s *Schedule) *int { return &s.Width }},
}

// maxTile bounds the rows and the vectors of a register tile.
const maxTile = 16

// String is the text form; "default" for the zero schedule.
func (s Schedule) String() string {
	var parts []string
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
	if name == "tile" {
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
	if s.Rows*s.Vectors+s.Vectors >= t.Registers {
		return fmt.Errorf("%s has %d vector registers, too few for tiles of %dx%d", t.Name, t.Registers, s.Rows, s.Vectors)
	}
	return nil
}

// decide completes a schedule for a kernel: every field that matters to it is set,
// to what the schedule asks for or to the backend's own choice, and no other.
// Parts that ask for more than the kernel has are cut down to it.
func (t Target) decide(k *loop.Kernel, want Schedule) (Schedule, error) {
	if err := t.Check(want); err != nil {
		return want, err
	}
	s := Schedule{Width: cmp.Or(want.Width, t.Lanes)}
	switch t := t.narrowed(s.Width); {
	case k.Contraction != nil:
		c := k.Contraction
		s.Rows, s.Vectors = want.Rows, want.Vectors
		if s.Rows == 0 {
			s.Rows, s.Vectors = t.tileFor(c)
		}
		s.Block, s.Unroll = want.Block, min(max(want.Unroll, 1), max(c.K, 1))
		return t.fit(c, s), nil
	case k.Attention != nil:
		s.Keys = min(cmp.Or(want.Keys, keyBlock), max(k.Attention.Keys, 1))
	}
	return s, nil
}

// fit makes schedules that cut a contraction alike equal.
func (t Target) fit(c *loop.Contraction, s Schedule) Schedule {
	cut := t.cut(c, s)
	if len(cut.rows) == 0 || len(cut.panels) == 0 {
		return Schedule{Rows: 1, Vectors: 1, Block: 1, Unroll: 1, Width: s.Width}
	}
	s.Rows, s.Vectors = cut.rows[0], cut.panels[0]
	if s.Block == 0 {
		s.Block = matrixBytes / (4 * max(1, c.K))
	}
	rows, n := 0, cut.block(s.Block)
	for _, r := range cut.rows[:n] {
		rows += r
	}
	s.Block = rows
	return s
}

// shapeOf names what the code of a kernel depends on besides its schedule: its
// operator and loops for people, and a hash of all.
func shapeOf(k *loop.Kernel, packed bool) string {
	bare := *k
	bare.Params = make([]loop.Param, len(k.Params))
	for i, p := range k.Params {
		bare.Params[i] = loop.Param{Value: &ir.Value{Name: fmt.Sprint(i), Spec: p.Value.Spec}, Written: p.Written}
	}
	sum := sha256.Sum256(fmt.Append(nil, bare.String(), packed))
	return fmt.Sprintf("%s %s #%s", k.Op, extent(k), hex.EncodeToString(sum[:4]))
}

// extent is the loops of a kernel: batch, M, N and K of a contraction; batch,
// heads, queries, keys and channels of an attention.
func extent(k *loop.Kernel) string {
	var dims []int
	switch {
	case k.Contraction != nil:
		c := k.Contraction
		dims = append(append(dims, c.Batch...), c.M, c.N, c.K)
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
