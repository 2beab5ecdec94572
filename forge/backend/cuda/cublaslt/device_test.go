package cublaslt

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"forgekernel/forge/backend/cuda/driver"
	"forgekernel/forge/backend/cuda/library"
	"forgekernel/forge/tensor"
)

// openDevice is the first GPU, without which a test is skipped.
func openDevice(t testing.TB) *driver.Context {
	t.Helper()
	l, err := driver.Open()
	var missing *library.Missing
	if errors.As(err, &missing) {
		t.Skip("there is no GPU: ", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	list, err := l.Devices()
	if err != nil {
		t.Fatal(err)
	}
	if len(list) == 0 {
		t.Skip("there is no GPU")
	}
	c, err := list[0].Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// strided is a matrix, or a batch, of random numbers with a place for each.
type strided struct {
	Matrix
	rows, cols int
	t          *tensor.Tensor
}

func newStrided(d tensor.DType, seed uint64, rows, cols, batch int, m Matrix) (strided, error) {
	last := (rows-1)*m.Row + (cols-1)*m.Column + 1
	t, err := tensor.Randn(seed, last+(batch-1)*m.Batch)
	if err == nil {
		t, err = t.Convert(d)
	}
	return strided{m, rows, cols, t}, err
}

func (m strided) at(b, i, j int) float64 { return m.t.Elem(b*m.Batch + i*m.Row + j*m.Column) }

// exercise computes a shape by all products of its plan, directly and in a graph, and
// returns the greatest error of an element, in units of the magnitude of its terms.
func exercise(device *driver.Context, l *Library, s Shape) (plan *Plan, worst float64, err error) {
	a, err := newStrided(s.DType, 1, s.M, s.K, s.Batch, s.A)
	if err != nil {
		return nil, 0, err
	}
	b, err := newStrided(s.DType, 2, s.K, s.N, s.Batch, s.B)
	if err != nil {
		return nil, 0, err
	}
	bias, err := newStrided(s.DType, 3, 1, s.N, 1, rows(s.N))
	if err != nil {
		return nil, 0, err
	}
	d, err := newStrided(s.DType, 4, s.M, s.N, s.Batch, s.D)
	if err != nil {
		return nil, 0, err
	}
	if plan, err = l.Plan(device, s); err != nil {
		return nil, 0, err
	}
	stream, err := device.NewStream()
	if err != nil {
		return nil, 0, err
	}
	memory := func(t *tensor.Tensor, more int64) (*driver.Memory, error) {
		raw := t.Encode()
		m, err := stream.Alloc(int64(len(raw)) + more + 256)
		if err == nil {
			err = stream.Upload(m, 0, raw)
		}
		return m, err
	}
	var at [4]*driver.Memory
	for i, m := range []strided{a, b, bias, d} {
		if at[i], err = memory(m.t, 0); err != nil {
			return nil, 0, err
		}
	}
	work, err := memory(bias.t, s.Workspace)
	if err != nil {
		return nil, 0, err
	}
	for _, p := range plan.Products {
		run := func() error {
			return p.Run(stream, at[0].Address, at[1].Address, at[2].Address, at[3].Address, work.Address)
		}
		for _, graph := range []bool{false, true} {
			err := stream.Upload(at[3], 0, slices.Repeat([]byte{0x7f}, len(d.t.Encode())))
			if err == nil && graph {
				var g *driver.Graph
				if g, err = stream.Capture(run); err == nil {
					err = errors.Join(g.Launch(stream), stream.Synchronize(), g.Close())
				}
			} else if err == nil {
				err = run()
			}
			raw := d.t.Encode()
			if err = errors.Join(err, stream.Download(raw, at[3], 0), stream.Synchronize()); err != nil {
				return nil, 0, fmt.Errorf("%s, graph %v: %w", p.Name, graph, err)
			}
			got := d
			if got.t, err = tensor.Decode(s.DType, d.t.Shape(), raw); err != nil {
				return nil, 0, err
			}
			worst = max(worst, difference(s, a, b, bias, got))
		}
	}
	for _, m := range append(at[:], work) {
		err = errors.Join(err, stream.Free(m))
	}
	return plan, worst, errors.Join(err, stream.Synchronize(), stream.Close())
}

// difference compares some elements with sums in float64.
func difference(s Shape, a, b, bias, d strided) float64 {
	worst := 0.0
	for n := range s.Batch {
		for i := 0; i < s.M; i += 1 + s.M/37 {
			for j := 0; j < s.N; j += 1 + s.N/41 {
				sum, size := 0.0, 1e-30
				if s.Bias {
					sum = bias.at(0, 0, j)
					size = math.Abs(sum)
				}
				for k := range s.K {
					x := a.at(n, i, k) * b.at(n, k, j)
					sum += x
					size += math.Abs(x)
				}
				e := math.Abs(d.at(n, i, j)-sum) / size
				if !(e <= worst) {
					worst = e
				}
			}
		}
	}
	return worst
}

// bound is what errors may be: of sums of a few thousand terms in float32, or of the
// rounding of a result.
var bound = map[tensor.DType]float64{tensor.F32: 1e-6, tensor.F64: 1e-14, tensor.F16: 6e-4, tensor.BF16: 5e-3}

// TestProducts compares all that the library offers with sums in float64. TF32 would err
// by 1e-4 and more.
func TestProducts(t *testing.T) {
	l := cublaslt(t)
	device := openDevice(t)
	for _, d := range []tensor.DType{tensor.F32, tensor.F64, tensor.F16, tensor.BF16} {
		for name, s := range map[string]Shape{
			"square":          square(d, 256),
			"ragged":          {M: 37, N: 72, K: 131, Batch: 1, A: rows(131), B: rows(72), D: rows(72)},
			"weights turned":  {M: 8, N: 512, K: 768, Batch: 1, A: rows(768), B: columns(768), D: rows(512)},
			"one row":         {M: 1, N: 1024, K: 512, Batch: 1, A: rows(512), B: rows(1024), D: rows(1024)},
			"bias":            {M: 64, N: 512, K: 256, Batch: 1, A: rows(256), B: rows(512), D: rows(512), Bias: true},
			"bias, one row":   {M: 1, N: 512, K: 256, Batch: 1, A: rows(256), B: columns(256), D: rows(512), Bias: true},
			"batch":           {M: 24, N: 24, K: 16, Batch: 32, A: Matrix{16, 1, 384, 256}, B: Matrix{1, 16, 384, 256}, D: Matrix{24, 1, 576, 256}},
			"batch, shared B": {M: 16, N: 64, K: 48, Batch: 5, A: Matrix{48, 1, 768, 256}, B: Matrix{64, 1, 0, 256}, D: Matrix{64, 1, 1024, 256}},
			"parts of rows":   {M: 32, N: 64, K: 64, Batch: 1, A: rows(192), B: rows(128), D: rows(64)},
		} {
			s.DType, s.Workspace = d, 32<<20
			t.Run(fmt.Sprintf("%v/%s", d, name), func(t *testing.T) {
				err := device.Do(t.Context(), func() error {
					p, worst, err := exercise(device, l, s)
					if err != nil {
						return err
					}
					t.Logf("%v: %d ways, the first %s with %.2f waves and a workspace of %d bytes; the greatest error is %.2g", s, len(p.Products), p.Products[0].Name, p.Products[0].Waves, p.Products[0].Workspace, worst)
					if !(worst <= bound[d]) {
						t.Errorf("an error of %.3g", worst)
					}
					return nil
				})
				if err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// BenchmarkProducts is the time of the quickest way, by events.
func BenchmarkProducts(b *testing.B) {
	l := cublaslt(b)
	device := openDevice(b)
	for _, d := range []tensor.DType{tensor.F32, tensor.BF16} {
		for _, s := range []Shape{
			square(d, 4096), {M: 1, N: 4096, K: 4096, Batch: 1, A: rows(4096), B: rows(4096), D: rows(4096)},
			{M: 1, N: 4096, K: 4096, Batch: 1, A: rows(4096), B: columns(4096), D: rows(4096)},
			{M: 1, N: 28672, K: 4096, Batch: 1, A: rows(4096), B: columns(4096), D: rows(28672)},
			{M: 64, N: 512, K: 256, Batch: 1, A: rows(256), B: rows(512), D: rows(512), Bias: true},
		} {
			s.DType, s.Workspace = d, 32<<20
			b.Run(fmt.Sprintf("%v-%dx%dx%d", d, s.M, s.N, s.K), func(b *testing.B) {
				for b.Loop() {
				}
				err := device.Do(b.Context(), func() error { return race(b, device, l, s) })
				if err != nil {
					b.Error(err)
				}
			})
		}
	}
}

// race times all ways in graphs of some, and reports the quickest.
func race(b *testing.B, device *driver.Context, l *Library, s Shape) error {
	plan, err := l.Plan(device, s)
	if err != nil {
		return err
	}
	stream, err := device.NewStream()
	if err != nil {
		return err
	}
	size := int64(8 * max(s.M*s.K, s.K*s.N, s.M*s.N))
	var at [4]*driver.Memory
	for i := range at {
		if at[i], err = stream.Alloc(max(size, s.Workspace)); err != nil {
			return err
		}
		noise, err := tensor.Randn(uint64(i), 1<<20)
		if err == nil {
			noise, err = noise.Convert(s.DType)
		}
		if err != nil {
			return err
		}
		raw := noise.Encode()
		for off := int64(0); off+int64(len(raw)) <= at[i].Bytes; off += int64(len(raw)) {
			if err := stream.Upload(at[i], off, raw); err != nil {
				return err
			}
		}
	}
	start, _ := device.NewEvent(true)
	end, err := device.NewEvent(true)
	if err != nil {
		return err
	}
	best, name := time.Hour, ""
	for _, p := range plan.Products {
		const graphed = 20
		g, err := stream.Capture(func() error {
			for range graphed {
				if err := p.Run(stream, at[0].Address, at[1].Address, at[2].Address, at[2].Address, at[3].Address); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		for range 5 {
			if err := errors.Join(stream.Record(start), g.Launch(stream), stream.Record(end), end.Synchronize()); err != nil {
				return err
			}
			took, err := end.Since(start)
			if err != nil {
				return err
			}
			if took /= graphed; took < best {
				best, name = took, p.Name
			}
		}
		if err := g.Close(); err != nil {
			return err
		}
	}
	b.Logf("%v: %v, %s of %d ways", s, best, name, len(plan.Products))
	b.ReportMetric(float64(best.Nanoseconds()), "device-ns/op")
	b.ReportMetric(2*float64(s.M)*float64(s.N)*float64(s.K)/best.Seconds()/1e12, "TFLOP/s")
	for _, m := range at {
		if err := stream.Free(m); err != nil {
			return err
		}
	}
	return errors.Join(stream.Synchronize(), stream.Close())
}
