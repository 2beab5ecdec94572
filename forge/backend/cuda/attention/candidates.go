package attention

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"forgekernel/forge/tensor"
)

// Device is what the choice of a kernel depends on.
type Device struct {
	Capability int // 90 for sm_90
	SMs        int // multiprocessors
	Shared     int // bytes of shared memory that a block may have
}

// Operand is what a parameter of a kernel is the address of. Parameters whose operand
// a shape does not have are null.
type Operand int

// Operands, in the order of the parameters of every kernel.
const (
	Q Operand = iota
	K
	V
	Out
	MaskOf
	TableOf
	PosOf
	LengthOf
	Scratch  // memory that nothing else uses meanwhile
	Counters // memory that is zero when a kernel begins, which it leaves so
	Operands // their number
)

// Kernel is one way to compute an attention.
type Kernel struct {
	Name, Reason  string // for a person
	Shared        []string
	Text          string // with @kernel@ for the name; parameters are the operands, int *fault and int step
	Grid, Threads [3]uint32
	Specific      bool // has instructions of sm_90a alone
	Dynamic       int  // bytes of shared memory beyond what the text declares
	// Bytes of the operands of these names.
	Scratch, Counters int64
}

// Limits of what kernels take.
const (
	maxFlashChannels = 256
	decodeRows       = 16 // of a block
	maxDecodeRows    = 64 // beyond which flash reads keys less often
	// rowBytes bounds the partial results of a block of by_row, in shared memory.
	rowBytes = 40 << 10
	// maxDeclared bounds the shared memory that a text declares, on every card.
	maxDeclared = 48 << 10
)

// Candidates are the kernels for a shape, the default first. The error says why there is
// none.
func Candidates(s Shape, d Device) ([]Kernel, error) {
	var list []Kernel
	if s.half() && d.Capability >= 80 {
		if k, ok := s.decodeKernel(d, decodeCut{splitWarps, 1}, nil); ok {
			list = append(list, k)
		}
		list = append(list, s.flashKernels(d)...)
	}
	for _, own := range []int{8, 4} {
		if k, ok := s.lanesKernel(d, own); ok {
			list = append(list, k)
		}
	}
	k, err := s.rowsKernel(d)
	if err != nil && len(list) == 0 {
		return nil, err
	}
	if err == nil {
		list = append(list, k)
	}
	return list, nil
}

// flashKernels are those of flash, the one first that should be the fastest: as fast as it
// is on a busy device, times the part of the multiprocessors that its blocks keep busy.
func (s *Shape) flashKernels(d Device) []Kernel {
	type scored struct {
		Kernel
		score float64
	}
	var list []scored
	add := func(k Kernel, ok bool, rate float64) {
		if ok {
			blocks := float64(k.Grid[0] * k.Grid[1] * k.Grid[2])
			list = append(list, scored{k, rate * min(1, blocks/float64(d.SMs))})
		}
	}
	if d.Capability == 90 {
		for _, t := range wideTiles {
			k, ok := s.wideKernel(d, t)
			add(k, ok, t.rate)
		}
	}
	for _, t := range flashTiles {
		k, ok := s.flashKernel(d, t)
		add(k, ok, t.rate)
	}
	slices.SortStableFunc(list, func(a, b scored) int { return cmp.Compare(b.score, a.score) })
	kernels := make([]Kernel, len(list))
	for i, k := range list {
		kernels[i] = k.Kernel
	}
	return kernels
}

// flashTile is how a block of flash divides its work, and how fast that is on an H200,
// relative to the fastest.
type flashTile struct {
	warps, tiles, columns, blocks int
	rate                          float64
}

var flashTiles = []flashTile{{4, 2, 64, 2, 0.7}, {4, 1, 64, 2, 0.63}, {2, 1, 64, 2, 0.4}}

// flashKernel is flash where its rows fit in shared memory and its sums in registers.
func (s *Shape) flashKernel(d Device, t flashTile) (Kernel, bool) {
	dp, ep := (s.D+15)/16*16, (s.E+15)/16*16
	rows := 16 * t.warps * t.tiles
	bytes := 2 * (rows*(dp+8) + t.columns*(dp+8+ep+8))
	registers := t.tiles * (ep/2 + t.columns/2)
	if max(dp, ep) > maxFlashChannels || bytes > d.Shared || registers > 200 || rows > 64 && s.rows() <= 64 {
		return Kernel{}, false
	}
	return Kernel{
		Name:   fmt.Sprintf("flash attention, %d warps with %d rows by %d keys", t.warps, rows, t.columns),
		Reason: fmt.Sprintf("%d rows share the keys of a head", s.rows()),
		Shared: []string{common, mma, tile, flash},
		Text: s.kernel(32*t.warps, t.blocks,
			fmt.Sprintf("attention::flash<@kernel@_shape, %d, %d, %d>::run(p);", t.warps, t.tiles, t.columns)),
		Grid:    [3]uint32{uint32((s.rows() + rows - 1) / rows), uint32(s.Groups), uint32(s.Batches)},
		Threads: [3]uint32{uint32(32 * t.warps), 1, 1},
		Dynamic: bytes,
	}, true
}

// wideTile is how a block of flash with wide products divides its work: groups of 64 rows.
type wideTile struct {
	groups, columns int
	rate            float64
}

var wideTiles = []wideTile{{2, 128, 1}, {3, 64, 0.97}, {2, 64, 0.95}, {1, 128, 0.69}}

// wideKernel is flash with the products of sm_90a, for 64 or 128 channels.
func (s *Shape) wideKernel(d Device, t wideTile) (Kernel, bool) {
	rows := 64 * t.groups
	bytes := 2*s.D*(rows+4*t.columns) + 64 // and four pairs of barriers
	if !s.vector() || s.D != s.E || s.D != 64 && s.D != 128 || bytes > d.Shared || s.rows() <= rows/2 || s.Out.Channel != 1 {
		return Kernel{}, false
	}
	return Kernel{
		Name:     fmt.Sprintf("flash attention, wgmma, %d rows by %d keys", rows, t.columns),
		Reason:   fmt.Sprintf("%d rows share the keys of a head", s.rows()),
		Shared:   []string{common, mma, tile, wideScores(s.DType, t.columns), wideValues(s.DType, s.E), wide},
		Text:     s.kernel(128*(t.groups+1), 1, fmt.Sprintf("attention::flash_wide<@kernel@_shape, %d, %d>::run(p);", t.groups, t.columns)),
		Grid:     [3]uint32{uint32((s.rows() + rows - 1) / rows), uint32(s.Groups), uint32(s.Batches)},
		Threads:  [3]uint32{uint32(128 * (t.groups + 1)), 1, 1},
		Dynamic:  bytes,
		Specific: true,
	}, true
}

// splitWarps are the warps of a block of decode.
const splitWarps = 4

// Joined are the kernels of an attention of one new token that do what a does before it as
// well; none where there is no such kernel. Their parameters are the operands, of which Q
// is null and K and V are the caches that are appended to, and then NewQ, NewK and NewV.
// Early says that nothing in the program writes positions, the table or the caches but
// these kernels: they then wait for those before them by themselves, with AWAIT.
func (s Shape) Joined(a *Append, d Device) []Kernel {
	if s.Batches != 1 || s.Queries != 1 || s.Mask != nil || s.Cache == nil || a.Heads != s.Heads || a.To != s.DType || !s.half() || d.Capability < 80 {
		return nil
	}
	if _, err := a.Kernel(); err != nil {
		return nil
	}
	var list []Kernel
	cuts := joinedCuts
	if max(s.D, s.E) > 64 {
		cuts = wideCuts
	}
	for _, c := range cuts {
		if k, ok := s.decodeKernel(d, c, a); ok {
			list = append(list, k)
		}
	}
	return list
}

// decodeCut is how a block of decode divides its keys: 16 for each warp at a time, and a
// block takes as many passes before another one has keys, whose results have to be put
// together by way of memory.
type decodeCut struct{ warps, passes int }

// The cuts of kernels that append, the default first: as they were measured within decodes
// of some hundred positions. Registers for more than 64 channels do not do for 16 warps.
var (
	joinedCuts = []decodeCut{{16, 2}, {8, 2}, {splitWarps, 1}}
	wideCuts   = []decodeCut{{splitWarps, 1}, {8, 2}}
)

// decodeKernel is decode where rows are few and pieces of 16 bytes fit. With a it appends
// the new token, too.
func (s *Shape) decodeKernel(d Device, c decodeCut, a *Append) (Kernel, bool) {
	if !s.vector() || s.D%32 != 0 || s.D > 128 || s.E != 64 && s.E != 128 || s.rows() > maxDecodeRows {
		return Kernel{}, false
	}
	rows := min(s.rows(), decodeRows)
	blocks := s.Groups * ((s.rows() + decodeRows - 1) / decodeRows)
	warps := c.warps
	if s.decodeBytes(rows, warps, a != nil) > maxDeclared {
		return Kernel{}, false
	}
	splits := s.splits(d, blocks*s.Batches, 16*warps*c.passes)
	k := Kernel{
		Name:   fmt.Sprintf("attention of %d rows, keys split %d ways", rows, splits),
		Reason: fmt.Sprintf("%d rows share the keys of a head, which are read once by %d blocks", s.rows(), blocks*s.Batches*splits),
		Shared: []string{common, mma, tile, split},
		Grid:   [3]uint32{uint32(splits), uint32(blocks), uint32(s.Batches)}, Threads: [3]uint32{uint32(32 * warps), 1, 1},
		Scratch:  int64(splits*blocks*s.Batches) * s.words(rows) * 4,
		Counters: int64(blocks*s.Batches) * 4,
	}
	run := func(token, value string) string {
		return fmt.Sprintf("attention::decode<@kernel@_shape, %d, %d, %s>::run(p, scratch, counters, %s, fault, step);", warps, c.passes, token, value)
	}
	if a == nil {
		k.Shared = append(k.Shared, decode)
		k.Text = s.kernel(32*warps, 2, run("attention::no_token", "{}"))
		return k, true
	}
	k.Name += fmt.Sprintf(" of %d warps, which turn and append the token", warps)
	k.Shared = append(k.Shared, appendText, decode)
	in, out := kinds[a.From], kinds[a.To]
	const token = "attention::append<@kernel@_token>"
	k.Text = a.constants("@kernel@_token", in.kind, out.kind) + s.kernel(32*warps, max(1, 2*splitWarps/warps),
		run(token, fmt.Sprintf("%s{new_q, new_k, new_v, nullptr, (%s *)k, (%s *)v, table, pos, length}", token, out.elem, out.elem)),
		"const "+in.elem+" *new_q", "const "+in.elem+" *new_k", "const "+in.elem+" *new_v")
	return k, true
}

// decodeBytes are those of shared memory that a block of decode declares: partial of
// source/split.cu, and token of source/decode.cu where it appends.
func (s *Shape) decodeBytes(rows, warps int, appends bool) int {
	bytes := 4*(warps*rows*(s.E+2)+rows*(maxSplits+1)) + rows + 1
	if appends {
		bytes = (bytes+15)/16*16 + 2*(rows*(s.D+8)+s.D+s.E) + 4*s.D
	}
	return bytes
}

// words is row_words of source/split.cu.
func (s *Shape) words(rows int) int64 { return int64((rows*(s.E+2) + 3) / 4 * 4) }

// maxSplits is that of source/split.cu.
const maxSplits = 64

// splits is the number of blocks that share the keys of a row: as many as make two blocks
// for each multiprocessor, and have a group of keys when there are as many as can be.
func (s *Shape) splits(d Device, blocks, group int) int {
	return max(1, min(2*d.SMs/max(1, blocks), (s.Keys+group-1)/group, maxSplits))
}

// lanesWarps are the warps of a block of lanes.
const lanesWarps = 4

// lanesKernel is for many queries of any type, own of them for each warp.
func (s *Shape) lanesKernel(d Device, own int) (Kernel, bool) {
	each, size := (s.E+31)/32, 4
	if s.DType == tensor.F64 {
		size = 8
	}
	d4, rows := (s.D+3)/4*4, lanesWarps*own
	bytes := size * (d4*33 + 32*32*max(1, each) + rows*d4 + rows*32)
	blocks := (s.rows() + rows - 1) / rows * s.Groups * s.Batches
	if s.rows() < rows || each*own*size > 256 || bytes > d.Shared || own > 4 && blocks < d.SMs {
		return Kernel{}, false
	}
	return Kernel{
		Name:   fmt.Sprintf("attention of %d rows by 32 keys", rows),
		Reason: fmt.Sprintf("%v with %d and %d channels; %d rows share the keys of a head", s.DType, s.D, s.E, s.rows()),
		Shared: []string{common, lanes},
		Text:   s.kernel(32*lanesWarps, 1, fmt.Sprintf("attention::by_lanes<@kernel@_shape, %d, %d>::run(p);", lanesWarps, own)),
		Grid:   [3]uint32{uint32((s.rows() + rows - 1) / rows), uint32(s.Groups), uint32(s.Batches)}, Threads: [3]uint32{32 * lanesWarps, 1, 1},
		Dynamic: bytes,
	}, true
}

// maxGrid is the blocks of by_row, which go on with other rows when there are more.
const maxGrid = 1 << 16

// rowsKernel is for every shape.
func (s *Shape) rowsKernel(d Device) (Kernel, error) {
	size := 4
	if kinds[s.DType].real == "double" {
		size = 8
	}
	warps := 8
	for warps > 1 && (warps*(s.E+2)*size > rowBytes || 32*warps >= 2*s.Keys) {
		warps /= 2
	}
	if warps*(s.E+2)*size > rowBytes {
		return Kernel{}, fmt.Errorf("values of %d channels are more than the %d that a block keeps", s.E, rowBytes/size)
	}
	rows := s.Batches * s.Heads * s.Queries
	splits := 1
	if rows < maxGrid {
		splits = s.splits(d, rows, 32*warps)
	}
	return Kernel{
		Name:   fmt.Sprintf("attention row by row, keys split %d ways", splits*warps),
		Reason: fmt.Sprintf("%v with %d and %d channels", s.DType, s.D, s.E),
		Shared: []string{common, split},
		Text:   s.kernel(32*warps, 1, fmt.Sprintf("attention::by_row<@kernel@_shape, %d>::run(p, scratch, counters);", warps)),
		Grid:   [3]uint32{uint32(min(rows, maxGrid)), uint32(splits), 1}, Threads: [3]uint32{uint32(32 * warps), 1, 1},
		Scratch:  int64(rows*splits) * s.words(1) * int64(size),
		Counters: int64(rows) * 4,
	}, nil
}

// kernel is the function around a body, with more parameters behind the operands.
func (s *Shape) kernel(threads, blocks int, body string, more ...string) string {
	k, real := kinds[s.DType], kinds[s.DType].real
	const shape = "@kernel@_shape"
	params := strings.Join([]string{
		"const " + k.elem + " *q", "const " + k.elem + " *k", "const " + k.elem + " *v", shape + "::out_elem *out",
		"const " + shape + "::mask_elem *mask", "const " + shape + "::table_elem *table",
		"const " + shape + "::pos_elem *pos", "const " + shape + "::length_elem *length",
		real + " *scratch", "unsigned *counters",
	}, ", ")
	params = strings.Join(append([]string{params}, append(more, "int *fault", "int step")...), ", ")
	return fmt.Sprintf("%sextern \"C\" __global__ void __launch_bounds__(%d, %d) @kernel@(%s) {\n  const attention::operands<%s> p{q, k, v, out, mask, table, pos, length};\n  %s\n}\n",
		s.text(shape), threads, blocks, params, shape, body)
}
