package collective

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"strings"

	"forgekernel/forge/backend"
	"forgekernel/forge/tensor"
)

// Op is an operation of a group.
type Op uint8

// Operations.
const (
	AllReduce Op = iota
	ReduceScatter
	AllGather
	Broadcast
	Barrier
	Send
	Recv
	numOps
)

var opNames = [numOps]string{"all_reduce", "reduce_scatter", "all_gather", "broadcast", "barrier", "send", "recv"}

// String is the name of the operator in programs, such as "all_reduce".
func (o Op) String() string {
	if o >= numOps {
		return "unknown"
	}
	return opNames[o]
}

// header is the line that begins a call in a ring; see [call.header].
type header [line]byte

// magic ends a header. Its last digit is the version of this protocol.
const magic = 0x31_6c_6c_6f_63_6c_62_6e // "nblcoll1"

// call describes a call in full, so that ranks that diverge can be told apart in
// words and not only by a hash.
type call struct {
	op    Op
	how   backend.Reduction
	dtype tensor.DType
	peer  uint32 // the root of a broadcast, the receiver of a send; in ranks of the group
	rank  uint8  // number of dimensions
	dims  [tensor.MaxRank]uint32
	epoch uint32
	group uint32 // identity
	seq   uint64
}

// shape notes the type and shape of a tensor.
func (c *call) shape(t *tensor.Tensor) {
	c.dtype, c.rank = t.DType(), uint8(t.Rank())
	for i := range t.Rank() {
		c.dims[i] = uint32(t.Dim(i))
	}
}

// header is the call as bytes. Two calls that agree have the same.
func (c *call) header() (h header) {
	le := binary.LittleEndian
	le.PutUint32(h[0:], c.epoch)
	le.PutUint32(h[4:], c.group)
	le.PutUint64(h[8:], c.seq)
	h[16], h[17], h[18], h[19] = byte(c.op), byte(c.how), byte(c.dtype), c.rank
	le.PutUint32(h[20:], c.peer)
	for i, d := range c.dims {
		le.PutUint32(h[24+4*i:], d)
	}
	le.PutUint64(h[56:], magic)
	return h
}

// parseCall reads a header. It reports false for bytes that are none.
func parseCall(h *header) (c call, ok bool) {
	le := binary.LittleEndian
	c = call{op: Op(h[16]), how: backend.Reduction(h[17]), dtype: tensor.DType(h[18]), rank: h[19],
		peer: le.Uint32(h[20:]), epoch: le.Uint32(h[0:]), group: le.Uint32(h[4:]), seq: le.Uint64(h[8:])}
	for i := range c.dims {
		c.dims[i] = le.Uint32(h[24+4*i:])
	}
	ok = le.Uint64(h[56:]) == magic && c.op < numOps && c.how <= backend.Max && c.rank <= tensor.MaxRank &&
		(c.dtype.Valid() || c.op == Barrier)
	return c, ok
}

// words say what is called: "all_reduce sum f32[8,64] as number 41". members are
// the job's ranks of the group's.
func (c *call) words(members []int) string {
	var b strings.Builder
	b.WriteString(c.op.String())
	if c.op == AllReduce || c.op == ReduceScatter {
		b.WriteString(" " + c.how.String())
	}
	if c.op != Barrier {
		shape := make([]int, c.rank)
		for i := range shape {
			shape[i] = int(c.dims[i])
		}
		b.WriteString(" " + c.dtype.String() + tensor.FormatShape(shape))
	}
	who := fmt.Sprint(c.peer)
	if int(c.peer) < len(members) {
		who = fmt.Sprint(members[c.peer])
	}
	switch c.op {
	case Broadcast:
		b.WriteString(" of rank " + who)
	case Send:
		b.WriteString(" to rank " + who)
	case Recv:
		b.WriteString(" from rank " + who)
	}
	fmt.Fprintf(&b, " as number %d", c.seq)
	return b.String()
}

// groupID identifies a group by its name and the job's ranks in it.
func groupID(name string, members []int) uint32 {
	h := fnv.New32a()
	fmt.Fprint(h, name, members)
	return h.Sum32()
}
