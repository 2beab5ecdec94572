package triton

import (
	"fmt"
	"slices"

	"forgekernel/forge/loop"
	"forgekernel/forge/tensor"
)

// contraction writes a product of tiles with its epilogue.
func (e *emitter) contraction() error {
	c := e.kernel.Contraction
	if c.Elem != tensor.F32 && c.Elem != tensor.F16 && c.Elem != tensor.BF16 {
		return fmt.Errorf("products of %v have no form in Triton: it has no tiles of them, or adds in another order than the reference", c.Elem)
	}
	if err := supports(c.Epilogue); err != nil {
		return err
	}
	e.count(c.Epilogue)
	p := &productEmitter{emitter: e, c: c}
	p.a, p.b = e.base(c.A.Param), e.base(c.B.Param)
	p.write()
	e.out.Candidates = tiles(c)
	return nil
}

// productEmitter writes a contraction.
type productEmitter struct {
	*emitter
	c    *loop.Contraction
	a, b string // the names of the matrices
}

// blockNames are the constants that candidates choose.
var blockNames = []string{"BLOCK_M", "BLOCK_N", "BLOCK_K", "GROUP_M"}

func (p *productEmitter) write() {
	c, lead := p.c, len(p.c.Batch)
	p.out.Constants = []Constant{{"M", c.M}, {"N", c.N}, {"K", c.K}}
	p.begin(slices.Concat([]string{"M", "N", "K"}, p.strides(), blockNames)...)
	p.Line("# Tiles of GROUP_M rows of tiles follow one another, so that what they read of %s stays in the cache.", p.b)
	p.Line("tiles_m = tl.cdiv(M, BLOCK_M)")
	p.Line("tiles_n = tl.cdiv(N, BLOCK_N)")
	p.Line("tile = tl.program_id(0)%s", map[bool]string{true: " % (tiles_m * tiles_n)"}[product(c.Batch) > 1])
	if product(c.Batch) > 1 {
		p.Line("batch = tl.program_id(0) // (tiles_m * tiles_n)")
	}
	p.coordinates("batch", "i", 0, c.Batch)
	p.Line("first_m = tile // (GROUP_M * tiles_n) * GROUP_M")
	p.Line("group_m = min(tiles_m - first_m, GROUP_M)")
	p.Line("tile_m = first_m + tile %% (GROUP_M * tiles_n) %% group_m")
	p.Line("tile_n = tile %% (GROUP_M * tiles_n) // group_m")
	p.index("m", "tile_m * BLOCK_M + tl.arange(0, BLOCK_M)[:, None]")
	p.index("n", "tile_n * BLOCK_N + tl.arange(0, BLOCK_N)[None, :]")
	p.Line("in_m = m < M")
	p.Line("in_n = n < N")
	p.vars = append(p.vars, "m", "n")
	p.batch, p.outer, p.rows, p.columns = lead, lead+1, "in_m", "in_n"
	p.sum()
	p.finish()
}

// strides declares the steps of the operands and of the result.
func (p *productEmitter) strides() []string {
	c, lead := p.c, len(p.c.Batch)
	out := p.base(c.Out.Param)
	for _, s := range []struct {
		name   string
		access *loop.Access
		dims   string
	}{{p.a, &c.A, "mk"}, {p.b, &c.B, "kn"}, {out, &c.Out, "mn"}} {
		for i, d := range s.dims {
			name := fmt.Sprintf("stride_%s%c", s.name, d)
			p.taken[name] = true
			p.out.Constants = append(p.out.Constants, Constant{name, s.access.Strides[lead+i]})
		}
	}
	var names []string
	for _, c := range p.out.Constants[3:] {
		names = append(names, c.Name)
	}
	return names
}

// origin is where the matrix of this batch begins.
func (p *productEmitter) origin(a *loop.Access) string {
	at := p.out.Arguments[a.Param].Name
	lead := len(p.c.Batch)
	if index := p.affine(a.Offset, append(slices.Clone(a.Strides[:lead]), 0, 0)); index != "0" {
		at += " + " + index
	}
	return at
}

// sum writes the loop over the depth.
func (p *productEmitter) sum() {
	c := p.c
	for _, name := range []string{p.a, p.b, p.base(c.Out.Param)} {
		p.taken[name+"_at"], p.taken[name+"_tile"] = true, true
	}
	if c.Bias != nil {
		e := &loop.Expr{Op: loop.Load, Type: tensor.F32, Access: c.Bias}
		p.Line("acc = tl.zeros((BLOCK_M, BLOCK_N), tl.float32) + %s", p.load(e))
	} else {
		p.Line("acc = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)")
	}
	p.Line("k = tl.arange(0, BLOCK_K)")
	p.Line("%s_at = %s + m * stride_%sm + k[None, :] * stride_%sk", p.a, p.origin(&c.A), p.a, p.a)
	p.Line("%s_at = %s + k[:, None] * stride_%sk + n * stride_%sn", p.b, p.origin(&c.B), p.b, p.b)
	p.Line("for start in range(0, K, BLOCK_K):")
	p.Depth++
	p.Line("if K %% BLOCK_K == 0:")
	p.Line("    %s_tile = tl.load(%s_at, mask=in_m, other=0.0)", p.a, p.a)
	p.Line("    %s_tile = tl.load(%s_at, mask=in_n, other=0.0)", p.b, p.b)
	p.Line("else:")
	p.Line("    %s_tile = tl.load(%s_at, mask=in_m & (start + k < K)[None, :], other=0.0)", p.a, p.a)
	p.Line("    %s_tile = tl.load(%s_at, mask=(start + k < K)[:, None] & in_n, other=0.0)", p.b, p.b)
	widen, precision := "", ""
	if c.Elem == tensor.F32 {
		precision = `, input_precision="ieee"`
	}
	if c.Weight != c.Elem {
		widen = fmt.Sprintf(".to(%s)", dtypes[c.Elem])
	}
	p.Line("acc = tl.dot(%s_tile, %s_tile%s, acc%s)", p.a, p.b, widen, precision)
	p.Line("%s_at += BLOCK_K * stride_%sk", p.a, p.a)
	p.Line("%s_at += BLOCK_K * stride_%sk", p.b, p.b)
	p.Depth--
}

// finish stores the epilogue of the sums.
func (p *productEmitter) finish() {
	c := p.c
	p.acc = "acc"
	x := &loop.Expr{Op: loop.Acc, Type: tensor.F32}
	if c.Epilogue != nil {
		x = c.Epilogue
	}
	value := p.eval(x)
	out := p.base(c.Out.Param)
	if stored := p.kernel.Params[c.Out.Param].DType(); stored != x.Type {
		value = fmt.Sprintf("%s.to(%s)", factor(value), dtypes[stored])
	}
	p.Line("%s_at = %s + m * stride_%sm + n * stride_%sn", out, p.origin(&c.Out), out, out)
	p.Line("tl.store(%s_at, %s, mask=in_m & in_n)", out, value)
}

// shape is a tile of a candidate.
type shape struct{ m, n, k, warps, stages int }

// singles and halves are the tiles of f32, which ordinary arithmetic multiplies, and of
// half precision, which matrix units do. Large tiles read less, and small ones keep
// all of a device busy with a small product.
var (
	singles = []shape{
		{128, 128, 16, 8, 3}, {128, 64, 16, 4, 4}, {64, 128, 32, 8, 3}, {64, 128, 16, 4, 4}, {64, 64, 16, 4, 4},
		{64, 64, 32, 4, 3}, {32, 64, 32, 4, 3}, {32, 32, 32, 2, 4}, {16, 64, 64, 4, 3}, {16, 32, 64, 2, 3},
	}
	halves = []shape{
		{128, 256, 64, 8, 3}, {128, 128, 64, 8, 3}, {128, 128, 64, 4, 4}, {128, 64, 64, 4, 4}, {64, 128, 64, 4, 4},
		{64, 64, 64, 4, 4}, {32, 64, 64, 4, 4}, {16, 128, 64, 4, 4}, {16, 64, 128, 4, 4}, {16, 32, 128, 2, 4},
	}
)

// processors is the number of multiprocessors that candidates are ordered for, that of
// the larger devices.
const processors = 132

// warpElements is the least number of sums of a warp.
const warpElements = 256

// smallest is the least side of a tile that Triton multiplies.
const smallest = 16

// tiles lists the candidates of a product, at least four, by the time that they should
// take.
func tiles(c *loop.Contraction) []Launch {
	list := halves
	if c.Elem == tensor.F32 {
		list = singles
	}
	var fit []shape
	add := func(s shape) {
		if !slices.Contains(fit, s) {
			fit = append(fit, s)
		}
	}
	clip := func(side, size int) int { return min(side, max(smallest, ceilPower(size))) }
	for _, s := range list {
		m, n := clip(s.m, c.M), clip(s.n, c.N)
		add(shape{m, n, clip(s.k, c.K), min(s.warps, max(1, m*n/warpElements)), s.stages})
	}
	for _, s := range slices.Clone(fit) { // small products have few tiles, but these two choices
		for _, warps := range []int{2, 4} {
			for _, stages := range []int{2, 4} {
				if len(fit) < 4 {
					add(shape{s.m, s.n, s.k, warps, stages})
				}
			}
		}
	}
	slices.SortStableFunc(fit, func(a, b shape) int { return int(a.cost(c) - b.cost(c)) })
	var out []Launch
	for _, s := range fit {
		out = append(out, Launch{
			Grid:      [3]int{s.count(c), 1, 1},
			Constants: []Constant{{"BLOCK_M", s.m}, {"BLOCK_N", s.n}, {"BLOCK_K", s.k}, {"GROUP_M", 8}},
			Warps:     s.warps, Stages: s.stages,
		})
	}
	return out
}

func (s shape) count(c *loop.Contraction) int {
	return product(c.Batch) * ((c.M + s.m - 1) / s.m) * ((c.N + s.n - 1) / s.n)
}

// cost is the time of all waves of tiles: a tile takes as long as its products, or as
// the elements that it reads.
func (s shape) cost(c *loop.Contraction) int64 {
	waves := int64((s.count(c) + processors - 1) / processors)
	return waves * int64(s.m*s.n+32*(s.m+s.n))
}
