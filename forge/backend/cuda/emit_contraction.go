package cuda

import (
	"fmt"
	"slices"

	"forgekernel/forge/loop"
	"forgekernel/forge/tensor"
)

// tileSide is the rows, columns and depth of the blocks that a block of threads keeps in
// shared memory; each of its threads computes one result.
const tileSide = 16

// contraction writes a block of threads for each square of results. Sums run in order.
func (e *emitter) contraction(name string) launch {
	c := e.kernel.Contraction
	form := forms[computed(c.Elem)]
	e.begin(name, tileSide*tileSide)
	defer e.Close()
	e.Line("__shared__ %s a[%d][%d], b[%d][%d];", form.elem, tileSide, tileSide, tileSide, tileSide+1)
	rows, columns := (c.M+tileSide-1)/tileSide, (c.N+tileSide-1)/tileSide
	var vars []string
	for i := range c.Batch {
		vars = append(vars, fmt.Sprintf("i%d", i))
	}
	dims := slices.Concat(c.Batch, []int{rows, columns})
	count := product(dims)
	e.Line("const int x = threadIdx.x %% %d, y = threadIdx.x / %d;", tileSide, tileSide)
	e.Open("for (i64 u = blockIdx.x; u < %dll; u += gridDim.x)", count)
	e.coordinates("u", append(slices.Clone(vars), "top", "left"), dims)
	e.Line("const i64 m = top * %d + y, n = left * %d + x;", tileSide, tileSide)
	e.Line("const bool in = m < %d && n < %d;", c.M, c.N)
	at := append(slices.Clone(vars), "m", "n")
	e.Line("%s sum = %s;", form.value, constant(&loop.Expr{Op: loop.Const, Type: computed(c.Elem)}))
	if c.Bias != nil {
		e.Line("if (in) sum = load_%s(p%d + (%s));", e.memory(c.Bias), c.Bias.Param, e.affine(at, c.Bias.Offset, c.Bias.Strides))
	}
	e.steps(c, vars)
	e.Open("if (in)")
	e.finish(c, at)
	e.Close()
	e.Close()
	return flat(max(1, min(maxBlocks, count)), tileSide*tileSide)
}

// steps writes the loop over the depth: a block of each matrix goes to shared memory,
// zeros beyond the edges, of which no product is added.
func (e *emitter) steps(c *loop.Contraction, vars []string) {
	t := computed(c.Elem)
	e.Open("for (i64 k = 0; k < %d; k += %d)", c.K, tileSide)
	e.Line("__syncthreads();")
	a, b := append(slices.Clone(vars), "m", "(k + x)"), append(slices.Clone(vars), "(k + y)", "n")
	e.Line("a[y][x] = m < %d && k + x < %d ? lane0_%v(load_%s(p%d + (%s))) : 0;", c.M, c.K, t, e.memory(&c.A), c.A.Param, e.affine(a, c.A.Offset, c.A.Strides))
	e.Line("b[y][x] = k + y < %d && n < %d ? lane0_%v(load_%s(p%d + (%s))) : 0;", c.K, c.N, t, e.memory(&c.B), c.B.Param, e.affine(b, c.B.Offset, c.B.Strides))
	e.Line("__syncthreads();")
	e.Line("const int depth = %d - k < %d ? %d - k : %d;", c.K, tileSide, c.K, tileSide)
	fused := "fma_(set(a[y][q]), set(b[q][x]), sum)"
	if t == tensor.F64 {
		fused = "set_f64(__fma_rn(a[y][q], b[q][x], lane0_f64(sum)))"
	}
	e.Line("if (depth == %d) { _Pragma(\"unroll\") for (int q = 0; q < %d; q++) sum = %s; }", tileSide, tileSide, fused)
	e.Line("else for (int q = 0; q < depth; q++) sum = %s;", fused)
	e.Close()
}

// finish stores the epilogue of a sum.
func (e *emitter) finish(c *loop.Contraction, at []string) {
	e.acc = "sum"
	value := "sum"
	if c.Epilogue != nil {
		value = e.expr(at, c.Epilogue)
	}
	e.write(at, &c.Out, value, "")
}

// computed is the type that elements of a stored type are computed with.
func computed(d tensor.DType) tensor.DType {
	if d == tensor.F16 || d == tensor.BF16 {
		return tensor.F32
	}
	return d
}
