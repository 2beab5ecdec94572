package shader

import (
	"encoding/binary"
	"math"

	"forgekernel/forge/backend/wgsl/shader/check"
	"forgekernel/forge/backend/wgsl/shader/syntax"
)

// A track remembers who touched one scalar of workgroup memory since the last
// barrier: an epoch with a lane and, of readers, whether there was more than
// one. Two lanes race when they touch a scalar in one epoch and one writes.
type track struct{ writer, reader uint32 }

const (
	laneBits = 10
	many     = 1 << laneBits // in a reader: more than one lane
	epochAt  = laneBits + 1
	maxEpoch = 1<<(32-epochAt) - 1
)

// barrier begins a new epoch of workgroup memory.
func (m *machine) barrier() {
	if m.epoch++; m.epoch > maxEpoch {
		clear(m.tracks)
		m.epoch = 1
	}
}

func (m *machine) read(at syntax.Pos, a, lane int) {
	t := &m.tracks[a]
	now := m.epoch << epochAt
	if t.writer>>epochAt == m.epoch && t.writer != now|uint32(lane) {
		m.race(at, "reads", a, lane, "wrote", int(t.writer&(many-1)))
	}
	switch {
	case t.reader>>epochAt != m.epoch:
		t.reader = now | uint32(lane)
	case t.reader&(many-1) != uint32(lane):
		t.reader |= many
	}
}

func (m *machine) write(at syntax.Pos, a, lane int) {
	t := &m.tracks[a]
	now := m.epoch << epochAt
	if t.writer>>epochAt == m.epoch && t.writer != now|uint32(lane) {
		m.race(at, "writes", a, lane, "wrote", int(t.writer&(many-1)))
	}
	if t.reader>>epochAt == m.epoch && t.reader != now|uint32(lane) {
		other := int(t.reader & (many - 1))
		if other == lane {
			m.race(at, "writes", a, lane, "read", -1)
		}
		m.race(at, "writes", a, lane, "read", other)
	}
	t.writer = now | uint32(lane)
}

// race ends the dispatch: lane and other touched word a of workgroup memory.
func (m *machine) race(at syntax.Pos, does string, a, lane int, did string, other int) {
	name, offset := m.program.sharedName(a)
	m.fail(at, lane, "race: this invocation %s '%s' (scalar %d of it), which %s %s with no workgroupBarrier between",
		does, name, offset, m.who(other), did)
}

func (m *machine) who(lane int) string {
	if lane < 0 {
		return "another invocation"
	}
	return "local invocation " + triple(m.program.local(lane))
}

// A buffer is the memory of one binding. Buffers that shaders write remember
// who touched each granule: a scalar, or half of one where the module has f16.
type buffer struct {
	name    string
	data    []byte
	shift   uint // bytes of a granule, as a power of two
	pages   []*page
	tracked bool
}

const pageBits = 10

type page [1 << pageBits]stamp

// A stamp is like a track, with the workgroup too: nothing orders two
// workgroups, so that they race whenever they were.
type stamp struct{ writer, reader uint64 }

const (
	stampMany   = 1 << laneBits          // in a reader: several lanes of its workgroup
	stampGroups = 1 << (laneBits + 1)    // in a reader: several workgroups
	stampEpoch  = laneBits + 2           // place of the epoch
	stampGroup  = 32                     // place of the workgroup's number, from 1
	stampLast   = 1<<(32-stampEpoch) - 1 // the last epoch
)

// clock is the part of a stamp that says when: workgroup and epoch.
type clock struct {
	now    uint64
	groups [3]uint32 // of the dispatch
}

// startStorage begins a workgroup.
func (m *machine) startStorage() { m.clock.now = (m.clock.now>>stampGroup + 1) << stampGroup }

// tickStorage begins a new epoch of storage memory.
func (m *machine) tickStorage(x *check.Expr) {
	if m.clock.now>>stampEpoch&stampLast == stampLast {
		m.fail(x.Pos, 0, "a workgroup may not have more than %d storage barriers", stampLast)
	}
	m.clock.now += 1 << stampEpoch
}

func (b *buffer) stamp(at int) *stamp {
	g := at >> b.shift
	p := b.pages[g>>pageBits]
	if p == nil {
		p = new(page)
		b.pages[g>>pageBits] = p
	}
	return &p[g&(1<<pageBits-1)]
}

func (b *buffer) read(m *machine, pos syntax.Pos, at, lane int) {
	s := b.stamp(at)
	me := m.clock.now | uint64(lane)
	if s.writer != 0 && s.writer != me {
		b.conflict(m, pos, "reads", at, lane, "wrote", s.writer)
	}
	old := s.reader
	switch {
	case old>>stampGroup != me>>stampGroup:
		s.reader = me | old&stampGroups
		if old != 0 {
			s.reader |= stampGroups
		}
	case old>>stampEpoch != me>>stampEpoch:
		s.reader = me | old&stampGroups
	case old&(stampMany-1) != uint64(lane):
		s.reader |= stampMany
	}
}

func (b *buffer) write(m *machine, pos syntax.Pos, at, lane int) {
	s := b.stamp(at)
	me := m.clock.now | uint64(lane)
	if s.writer != 0 && s.writer != me {
		b.conflict(m, pos, "writes", at, lane, "wrote", s.writer)
	}
	if s.reader != 0 && s.reader != me {
		b.conflict(m, pos, "writes", at, lane, "read", s.reader)
	}
	s.writer = me
}

// conflict ends the dispatch where a barrier does not order two touches.
func (b *buffer) conflict(m *machine, pos syntax.Pos, does string, at, lane int, did string, other uint64) {
	sameGroup := other>>stampGroup == m.clock.now>>stampGroup
	if sameGroup && other&stampGroups == 0 && other>>stampEpoch != m.clock.now>>stampEpoch {
		return // a barrier was between
	}
	who, barrier := "an invocation of another workgroup", "and nothing orders workgroups"
	if sameGroup && other&stampGroups == 0 {
		barrier = "with no storageBarrier between"
		who = m.who(int(other & (stampMany - 1)))
		if other&stampMany != 0 && int(other&(stampMany-1)) == lane {
			who = m.who(-1)
		}
	} else if !sameGroup {
		who = "workgroup " + triple(m.program.groupOf(int(other>>stampGroup)-1, m.clock.groups))
	}
	m.fail(pos, lane, "race: this invocation %s byte %d of '%s', which %s %s %s", does, at, b.name, who, did, barrier)
}

// loadWord and storeWord move one scalar between a buffer and a register.
func (b *buffer) loadWord(at int, k check.Kind) uint32 {
	if k == check.F16 {
		return math.Float32bits(check.HalfValue(binary.LittleEndian.Uint16(b.data[at:])))
	}
	return binary.LittleEndian.Uint32(b.data[at:])
}

func (b *buffer) storeWord(at int, k check.Kind, w uint32) {
	if k == check.F16 {
		binary.LittleEndian.PutUint16(b.data[at:], check.HalfBits(math.Float32frombits(w)))
		return
	}
	binary.LittleEndian.PutUint32(b.data[at:], w)
}
