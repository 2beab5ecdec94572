package gemm

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"forgekernel/forge/backend/cuda/driver"
	"forgekernel/forge/backend/cuda/library"
	"forgekernel/forge/tensor"
)

// open is the first GPU.
var open = sync.OnceValues(func() (*driver.Context, error) {
	lib, err := driver.Open()
	if err != nil {
		return nil, err
	}
	list, err := lib.Devices()
	if err != nil {
		return nil, err
	}
	if len(list) == 0 {
		return nil, errors.New("the driver tells of no GPU")
	}
	return list[0].Open()
})

// device is the first GPU, without which a test is skipped.
func device(t testing.TB) *driver.Context {
	t.Helper()
	c, err := open()
	var missing *library.Missing
	if errors.As(err, &missing) {
		t.Skip("there is no GPU: ", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func targetOf(c *driver.Context) Target {
	return Target{Capability: int(c.Capability), SMs: c.SMs, Shared: c.SharedPerBlock}
}

// compiled is a kernel's code.
type compiled struct {
	Kernel
	cubin []byte
	err   error
}

// compileAll compiles kernels, several at a time.
func compileAll(t testing.TB, device *driver.Context, list []Kernel) []compiled {
	c := compiler(t)
	out := make([]compiled, len(list))
	var wg sync.WaitGroup
	free := make(chan bool, 12)
	for i, k := range list {
		arch := device.Capability.Arch()
		if k.specific() {
			arch += "a"
		}
		wg.Go(func() {
			free <- true
			cubin, err := c.Compile(source(arch, []Kernel{k}))
			out[i] = compiled{k, cubin, err}
			<-free
		})
	}
	wg.Wait()
	return out
}

func (k Kernel) specific() bool {
	return slices.ContainsFunc(k.Pieces, func(p Piece) bool { return p.Specific })
}

// extent is the number of elements from the first of a matrix to the last.
func (s *Shape) extent(m *Matrix, rows, columns int) int {
	n := 1 + (rows-1)*m.Row + (columns-1)*m.Column
	for i, d := range s.Batch {
		n += (d - 1) * m.Batch[i]
	}
	return n
}

// at is the place of an element of product z.
func (s *Shape) at(m *Matrix, z, row, column int) int {
	n := row*m.Row + column*m.Column
	for i := len(s.Batch) - 1; i >= 0; i-- {
		n += z % s.Batch[i] * m.Batch[i]
		z /= s.Batch[i]
	}
	return n
}

// operand is memory of the device and what it holds.
type operand struct {
	values []float32 // those of one period
	raw    []byte
	memory []*driver.Memory // copies
}

// period is after how many numbers those of a long operand repeat.
const period = 1<<20 + 7

// randomOperand has numbers whose products sum up to about the root of their count.
func randomOperand(d tensor.DType, n int, seed uint64) operand {
	r := rand.New(rand.NewPCG(seed, 1))
	list := make([]float64, min(n, period))
	for i := range list {
		list[i] = 1.5 * (r.Float64() + r.Float64() + r.Float64() - 1.5)
	}
	x, err := tensor.From([]int{len(list)}, list)
	if err == nil {
		x, err = x.Convert(d)
	}
	if err != nil {
		panic(err)
	}
	o := operand{values: make([]float32, len(list)), raw: make([]byte, 0, n*d.Size())}
	short := x.Encode()
	for i := range o.values {
		o.values[i] = float32(x.Elem(i))
	}
	for len(o.raw) < n*d.Size() {
		o.raw = append(o.raw, short[:min(len(short), n*d.Size()-len(o.raw))]...)
	}
	return o
}

// set changes an element, in the memory of the host.
func (o *operand) set(d tensor.DType, i int, x float32) {
	o.values[i] = x
	t := tensor.Scalar(d, float64(x))
	copy(o.raw[i*d.Size():], t.Encode())
}

// at is an element.
func (o *operand) at(i int) float64 { return float64(o.values[i%period]) }

// bench is a product on the device.
type bench struct {
	t         testing.TB
	c         *driver.Context
	s         *driver.Stream
	shape     *Shape
	operands  map[Arg]*operand
	fault     *driver.Memory
	reference func(z, m, n int, sum float64) float64
}

func newBench(t testing.TB, c *driver.Context, shape *Shape, copies int, extras ...operand) *bench {
	b := &bench{t: t, c: c, shape: shape, operands: make(map[Arg]*operand)}
	add := func(a Arg, o operand) { b.operands[a] = &o }
	add(A, randomOperand(shape.A.Elem, shape.extent(&shape.A, shape.M, shape.K), 1))
	add(B, randomOperand(shape.B.Elem, shape.extent(&shape.B, shape.K, shape.N), 2))
	out := shape.extent(&shape.Out, shape.M, shape.N) * shape.Out.Elem.Size()
	add(Out, operand{raw: make([]byte, out)})
	for i, o := range extras {
		add(Extra+Arg(i), o)
	}
	b.do(func() (err error) {
		if b.s, err = c.NewStream(); err != nil {
			return err
		}
		if b.fault, err = b.s.Alloc(256); err != nil {
			return err
		}
		for a, o := range b.operands {
			count := 1
			if a == B {
				count = copies
			}
			for range count {
				m, err := b.s.Alloc(int64(max(256, len(o.raw))))
				if err == nil {
					err = b.s.Upload(m, 0, o.raw)
				}
				if err != nil {
					return err
				}
				o.memory = append(o.memory, m)
			}
		}
		return b.s.Synchronize()
	})
	t.Cleanup(b.close)
	return b
}

func (b *bench) do(f func() error) {
	b.t.Helper()
	if err := b.c.Do(b.t.Context(), f); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) close() {
	err := b.c.Do(context.Background(), func() error { // that of the test has ended
		err := b.s.Free(b.fault)
		for _, o := range b.operands {
			for _, m := range o.memory {
				err = errors.Join(err, b.s.Free(m))
			}
		}
		return errors.Join(err, b.s.Close())
	})
	if err != nil {
		b.t.Error(err)
	}
}

// ready is a kernel on the device.
type ready struct {
	*bench
	k         compiled
	module    *driver.Module
	functions []*driver.Function
	own       map[Arg]*driver.Memory
}

// load makes a kernel ready; it is called within Do.
func (b *bench) load(k compiled) (*ready, error) {
	r := &ready{bench: b, k: k, own: make(map[Arg]*driver.Memory)}
	if k.err != nil {
		return nil, k.err
	}
	var err error
	if r.module, err = b.c.Load(k.cubin); err != nil {
		return nil, err
	}
	for j, p := range k.Pieces {
		f, err := r.module.Function(fmt.Sprintf("k0_%d", j))
		if err == nil {
			err = f.AllowShared(p.SharedBytes)
		}
		if err != nil {
			return nil, err
		}
		r.functions = append(r.functions, f)
	}
	for a, bytes := range map[Arg]int64{Scratch: k.Scratch, Counters: k.Counters} {
		m, err := b.s.Alloc(max(256, bytes))
		if err == nil {
			err = b.s.Fill(m, 0, m.Bytes, map[Arg]byte{Scratch: 0xff}[a])
		}
		if err != nil {
			return nil, err
		}
		r.own[a] = m
	}
	return r, nil
}

func (r *ready) close() error {
	err := r.module.Close()
	for _, m := range r.own {
		err = errors.Join(err, r.s.Free(m))
	}
	return err
}

// launch puts one product into the stream, with one of the copies of B.
func (r *ready) launch(copy int) error {
	for j, p := range r.k.Pieces {
		var words []uint64
		for _, a := range p.Args {
			m := r.own[a]
			if m == nil {
				list := r.operands[a].memory
				m = list[copy%len(list)]
			}
			words = append(words, m.Address)
		}
		args := driver.NewArguments(append(words, r.fault.Address, 0)...)
		for i, a := range p.Args {
			if boxes := p.Boxes[a]; boxes != nil {
				if err := args.Describe(r.c, i, boxes); err != nil {
					return err
				}
			}
		}
		g := driver.Grid{Blocks: p.Grid, Threads: p.Threads, Shared: uint32(p.SharedBytes)}
		if err := r.s.Launch(r.functions[j], g, args); err != nil {
			return err
		}
	}
	return nil
}

// results runs a kernel once, in memory full of NaN.
func (r *ready) results() (*tensor.Tensor, error) {
	out := r.operands[Out]
	err := errors.Join(r.s.Fill(out.memory[0], 0, out.memory[0].Bytes, 0xff), r.launch(0), r.s.Synchronize(),
		r.s.Download(out.raw, out.memory[0], 0), r.s.Synchronize())
	if err != nil {
		return nil, err
	}
	d := r.shape.Out.Elem
	return tensor.Decode(d, []int{len(out.raw) / d.Size()}, out.raw)
}

// sample is a result as it should be.
type sample struct {
	z, m, n int
	want    float64
}

// sampled computes so many of the results in float64.
func (b *bench) sampled(most int) []sample {
	s := b.shape
	all := s.batches() * s.M * s.N
	r := rand.New(rand.NewPCG(3, 3))
	x, y := b.operands[A], b.operands[B]
	var list []sample
	for i := range min(all, most) {
		if all > most {
			i = r.IntN(all)
		}
		z, m, n := i/(s.M*s.N), i/s.N%s.M, i%s.N
		var sum float64
		atA, atB := s.at(&s.A, z, m, 0), s.at(&s.B, z, 0, n)
		for k := range s.K {
			sum += x.at(atA+k*s.A.Column) * y.at(atB+k*s.B.Row)
		}
		if b.reference != nil {
			sum = b.reference(z, m, n, sum)
		}
		list = append(list, sample{z, m, n, sum})
	}
	return list
}

// worst is the largest error of results, relative to the root of k and to the size of the
// result, and where it is.
func (b *bench) worst(x *tensor.Tensor, list []sample) (worst float64, where string) {
	for _, p := range list {
		e := math.Abs(x.Elem(b.shape.at(&b.shape.Out, p.z, p.m, p.n))-p.want) / (math.Sqrt(float64(b.shape.K)) + math.Abs(p.want))
		if !(e <= worst) {
			worst, where = e, fmt.Sprintf("(%d, %d, %d)", p.z, p.m, p.n)
		}
	}
	return worst, where
}
