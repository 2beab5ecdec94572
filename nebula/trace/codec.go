package trace

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"
)

// Sizes of the binary form, in bytes.
const (
	headBytes   = 48
	regionBytes = 40
)

// maxNames bounds the distinct names of regions, which are numbered in 16 bits.
const maxNames = 1 << 16

// MarshalBinary is the form in which a rank gives its trace to another process:
// little-endian, a head, the names with their lengths, then regions of fixed size.
func (r Rank) MarshalBinary() ([]byte, error) {
	var names []string
	index := make(map[string]int)
	for _, g := range r.Regions {
		if _, known := index[g.Name]; known {
			continue
		}
		if len(names) == maxNames || len(g.Name) > 0xffff {
			return nil, fmt.Errorf("a trace has at most %d names of at most %d bytes", maxNames, 0xffff)
		}
		index[g.Name] = len(names)
		names = append(names, g.Name)
	}
	le := binary.LittleEndian
	var b []byte
	for _, v := range []uint64{uint64(r.Rank), uint64(r.Stage), uint64(r.Offset), uint64(r.Error), r.Lost} {
		b = le.AppendUint64(b, v)
	}
	b = le.AppendUint32(b, uint32(len(names)))
	b = le.AppendUint32(b, uint32(len(r.Regions)))
	for _, name := range names {
		b = append(le.AppendUint16(b, uint16(len(name))), name...)
	}
	for _, g := range r.Regions {
		b = append(b, byte(g.Kind), byte(g.Lane))
		b = le.AppendUint16(b, uint16(index[g.Name]))
		b = le.AppendUint32(b, 0)
		for _, v := range []uint64{g.Step, uint64(g.Start), uint64(g.End), g.Flow} {
			b = le.AppendUint64(b, v)
		}
	}
	return b, nil
}

var errCut = errors.New("the trace of a rank is cut short")

// UnmarshalBinary reads what MarshalBinary wrote. Nothing is allocated that the
// length of b does not account for.
func (r *Rank) UnmarshalBinary(b []byte) error {
	if len(b) < headBytes {
		return errCut
	}
	le := binary.LittleEndian
	word := func(i int) uint64 { return le.Uint64(b[8*i:]) }
	out := Rank{Rank: int(word(0)), Stage: int(word(1)), Offset: time.Duration(word(2)), Error: time.Duration(word(3)), Lost: word(4)}
	count, regions := int(le.Uint32(b[40:])), int(le.Uint32(b[44:]))
	b = b[headBytes:]
	if count > len(b)/2 {
		return errCut
	}
	names := make([]string, count)
	for i := range names {
		if len(b) < 2 || len(b)-2 < int(le.Uint16(b)) {
			return errCut
		}
		n := int(le.Uint16(b))
		names[i], b = string(b[2:2+n]), b[2+n:]
	}
	if len(b) != regions*regionBytes {
		return errCut
	}
	out.Regions = make([]Region, regions)
	for i := range out.Regions {
		e := b[i*regionBytes:]
		name := int(le.Uint16(e[2:]))
		if Kind(e[0]) >= kinds || Lane(e[1]) >= lanes || name >= count || le.Uint32(e[4:]) != 0 {
			return fmt.Errorf("region %d of the trace of rank %d is none that this version knows", i, out.Rank)
		}
		out.Regions[i] = Region{
			Kind: Kind(e[0]), Lane: Lane(e[1]), Name: names[name], Step: le.Uint64(e[8:]),
			Start: time.Duration(le.Uint64(e[16:])), End: time.Duration(le.Uint64(e[24:])), Flow: le.Uint64(e[32:]),
		}
	}
	*r = out
	return nil
}
