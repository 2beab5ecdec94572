package engine

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"

	"forgekernel/forge/tensor"
	"forgekernel/nebula/model"
	"forgekernel/nebula/shard"
)

// Options are what rank 0 decides for all ranks. The zero value means the defaults.
type Options struct {
	BlockSize int          // positions in a block of the cache; 16
	Blocks    int          // of the cache; as many as four requests of the whole context need
	Context   int          // positions of a request; the model's
	MaxRows   int          // of a step; 32
	MaxTokens int          // of a step; 512, or the context if that is shorter
	DType     tensor.DType // of weights and cache; F32
	// Ready is the steps for which no program has to be compiled any more.
	Ready Ready
	// Regions is how many regions of a trace each rank keeps; 0 records none.
	Regions int
	// Kernels records single kernels as well, which run a little slower then.
	Kernels bool
}

// Defaults and bounds of [Options].
const (
	defaultBlockSize = 16
	defaultRequests  = 4 // of the whole context, in the cache
	defaultMaxRows   = 32
	defaultMaxTokens = 512

	mostRows    = 1 << 10
	mostTokens  = 1 << 14
	mostRegions = 1 << 22
)

// sizes are what all ranks of an engine have in common.
type sizes struct {
	layout    shard.Layout
	context   int
	blockSize int
	blocks    int
	maxRows   int
	maxTokens int
	dtype     tensor.DType
	regions   int
	kernels   int // 1 if they are recorded
}

// sizes fills in the defaults.
func (o Options) sizes(l shard.Layout, c model.Config) sizes {
	s := sizes{
		layout: l, context: cmp.Or(o.Context, c.Context), blockSize: cmp.Or(o.BlockSize, defaultBlockSize),
		blocks: o.Blocks, maxRows: cmp.Or(o.MaxRows, defaultMaxRows), maxTokens: o.MaxTokens,
		dtype: cmp.Or(o.DType, tensor.F32), regions: o.Regions, kernels: bit(o.Kernels),
	}
	if s.maxTokens == 0 {
		s.maxTokens = min(defaultMaxTokens, s.context)
	}
	if s.blocks == 0 && s.blockSize > 0 {
		s.blocks = defaultRequests * s.width()
	}
	return s
}

// width is the blocks in a table.
func (s sizes) width() int { return blocksFor(s.context, s.blockSize) }

// check says whether a model can be run with these sizes.
func (s sizes) check(c model.Config) error {
	for _, n := range []struct {
		name       string
		have, most int
	}{
		{"the context", s.context, c.Context}, {"a block", s.blockSize, c.Context}, {"blocks of the cache", s.blocks, tensor.MaxElements},
		{"rows of a step", s.maxRows, mostRows}, {"tokens of a step", s.maxTokens, min(mostTokens, s.context)},
	} {
		if n.have < 1 || n.have > n.most {
			return fmt.Errorf("%s: %d; it must be 1 to %d", n.name, n.have, n.most)
		}
	}
	if s.regions < 0 || s.regions > mostRegions {
		return fmt.Errorf("regions of the trace: %d; there may be 0 to %d", s.regions, mostRegions)
	}
	if s.dtype != tensor.F32 && s.dtype != tensor.BF16 {
		return fmt.Errorf("weights and cache can be f32 or bf16, not %v", s.dtype)
	}
	if words := s.maxTokens + s.maxRows*(rowWords+passWords+1+s.width()) + 4; words > maxStep/4 {
		return fmt.Errorf("a step of %d rows with tables of %d blocks is too large to send", s.maxRows, s.width())
	}
	return s.layout.Check(c.Dims())
}

// fingerprint tells configurations of models apart.
func fingerprint(c model.Config) (uint64, error) {
	raw, err := json.Marshal(c)
	if err != nil {
		return 0, err
	}
	h := fnv.New64a()
	h.Write(raw)
	return h.Sum64(), nil
}

// fields are the sizes in the order in which they are sent.
func (s *sizes) fields() []*int {
	return []*int{&s.layout.TP, &s.layout.PP, &s.context, &s.blockSize, &s.blocks, &s.maxRows, &s.maxTokens, &s.regions, &s.kernels}
}

// encode is the message that opens a rank: the fingerprint of the model, the element
// type, and the sizes.
func (s sizes) encode(c model.Config) ([]byte, error) {
	print, err := fingerprint(c)
	if err != nil {
		return nil, err
	}
	b := binary.LittleEndian.AppendUint64(nil, print)
	b = binary.LittleEndian.AppendUint32(b, uint32(s.dtype))
	for _, n := range s.fields() {
		b = binary.LittleEndian.AppendUint32(b, uint32(*n))
	}
	return b, nil
}

// decodeSizes reads the message that opens a rank, which has a model and a layout
// already.
func decodeSizes(b []byte, c model.Config, l shard.Layout) (sizes, error) {
	in := words{b: b}
	var s sizes
	print := in.long()
	s.dtype = tensor.DType(in.next())
	for _, n := range s.fields() {
		*n = in.number()
	}
	own, err := fingerprint(c)
	switch {
	case err != nil:
		return s, err
	case in.cut || len(in.b) > 0:
		return s, errors.New("the message that opens a rank has another length")
	case s.layout != l:
		return s, fmt.Errorf("rank 0 runs %v, this rank was started for %v", s.layout, l)
	case print != own:
		return s, errors.New("rank 0 has a model of another configuration")
	}
	return s, s.check(c)
}

// encodeBuckets is the message that names programs to compile.
func encodeBuckets(list []bucket) []byte {
	var b []byte
	for _, p := range list {
		for _, n := range []int{p.rows, p.tokens, bit(p.logits)} {
			b = binary.LittleEndian.AppendUint32(b, uint32(n))
		}
	}
	return b
}

func decodeBuckets(b []byte, c *cutter) ([]bucket, error) {
	in := words{b: b}
	var list []bucket
	for len(in.b) > 0 && !in.cut {
		p := bucket{rows: in.number(), tokens: in.number(), logits: in.next() == 1}
		if !c.has(p) {
			return nil, fmt.Errorf("rank 0 wants program %v, which there is not", p)
		}
		list = append(list, p)
	}
	if in.cut {
		return nil, errors.New("the message that names programs is cut short")
	}
	return list, nil
}
