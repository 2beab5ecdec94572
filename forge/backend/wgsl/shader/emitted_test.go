package shader_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"forgekernel/forge/backend/wgsl"
	"forgekernel/forge/backend/wgsl/shader"
	"forgekernel/forge/ir"
	"forgekernel/forge/op"
)

// emitted are graphs whose shaders have what mistakes are made in: tiles,
// trees, tails and vectors.
var emitted = []struct{ name, graph string }{
	{"product", `graph g(%x: f32[70,36], %w: f32[36,72]) {
  %y: f32[70,72] = matmul %x, %w
  return %y
}`},
	{"small product", `graph g(%x: f32[5,7], %w: f32[7,9]) {
  %y: f32[5,9] = matmul %x, %w
  return %y
}`},
	{"softmax", `graph g(%x: f32[6,133]) {
  %y: f32[6,133] = softmax %x {axis = 1}
  return %y
}`},
	{"sum", `graph g(%x: f32[3,300]) {
  %y: f32[3] = sum %x {axes = [1], keepdims = false}
  return %y
}`},
}

// memory fills a plan's inputs.
func memory(p *wgsl.Plan) wgsl.Memory {
	m := p.NewMemory()
	r := rand.New(rand.NewPCG(5, 6))
	for i, b := range p.Buffers {
		if m[i] == nil {
			m[i] = make([]byte, b.Bytes)
		}
		if b.Kind != wgsl.Input {
			continue
		}
		for at := 0; at+4 <= len(m[i]); at += 4 {
			binary.LittleEndian.PutUint32(m[i][at:], math.Float32bits(float32(r.NormFloat64()*30)))
		}
	}
	return m
}

// run runs a plan with one module's source in place of its own.
func run(p *wgsl.Plan, module int, source string) (wgsl.Memory, error) {
	m := memory(p)
	for _, d := range p.Dispatches {
		text := p.Modules[d.Module].Source
		if d.Module == module {
			text = source
		}
		parsed, err := shader.Parse(text)
		if err != nil {
			return nil, err
		}
		call := shader.Call{Entry: d.Entry, Bindings: map[shader.Binding][]byte{}, Limits: shader.Limits{Work: 1 << 24}}
		for i, g := range d.Groups {
			call.Groups[i] = uint32(g)
		}
		for i, b := range d.Bindings {
			call.Bindings[shader.Binding{Binding: uint32(i)}] = m[b.Buffer][b.Offset : b.Offset+b.Size]
		}
		if err := parsed.Dispatch(context.Background(), call); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// same says whether two runs gave the same results, to a few bits.
func same(p *wgsl.Plan, a, b wgsl.Memory) bool {
	for i, buffer := range p.Buffers {
		if !buffer.Kind.Read() {
			continue
		}
		if buffer.Kind == wgsl.Fault {
			if !bytes.Equal(a[i], b[i]) {
				return false
			}
			continue
		}
		for at := 0; at+4 <= len(a[i]); at += 4 {
			x := float64(math.Float32frombits(binary.LittleEndian.Uint32(a[i][at:])))
			y := float64(math.Float32frombits(binary.LittleEndian.Uint32(b[i][at:])))
			if !(math.Abs(x-y) <= 1e-5*max(1, math.Abs(x))) {
				return false
			}
		}
	}
	return true
}

// leastFound is the part of mutations that has to be found out. What is not is
// in the log: most of it only changes the last bits of a result, or reads
// another element in bounds that is multiplied by zero.
const leastFound = 0.7

// TestEmittedMutations mutates the entry points that package wgsl prints, and
// not the functions before them: those correct what devices may err, which
// simulation does not, and the conformance suite is about them. Every barrier
// left out is found out but for one of each module: the first guards a tree
// against an earlier one, which there is not.
func TestEmittedMutations(t *testing.T) {
	for _, e := range emitted {
		t.Run(e.name, func(t *testing.T) {
			g, err := ir.Parse(op.Registry, e.graph)
			if err != nil {
				t.Fatal(err)
			}
			program, err := wgsl.NewProgram(g, wgsl.DefaultTarget)
			if err != nil {
				t.Fatal(err)
			}
			right, err := run(program.Plan, -1, "")
			if err != nil {
				t.Fatal(err)
			}
			faults, results, missed := 0, 0, 0
			for i, module := range program.Plan.Modules {
				barriers := 0
				functions, _, _ := strings.Cut(module.Source, "@compute")
				for _, m := range shader.Mutations(t, module.Source) {
					if !strings.HasPrefix(m.Source, functions) {
						continue
					}
					got, err := run(program.Plan, i, m.Source)
					switch {
					case err != nil:
						faults++
						continue
					case !same(program.Plan, right, got):
						results++
						continue
					}
					missed++
					t.Logf("not found out: %s %s", module.Name, m.Name)
					if strings.Contains(m.Name, "Barrier") {
						barriers++
					}
				}
				if barriers > 1 {
					t.Errorf("%s: %d barriers may be left out", module.Name, barriers)
				}
			}
			if found := float64(faults+results) / float64(faults+results+missed); found < leastFound || faults == 0 || results == 0 {
				t.Errorf("of the mutations %d fault, %d change the result, %d do neither", faults, results, missed)
			}
		})
	}
}

// BenchmarkEmittedProduct runs the tiles of 8 by 8 results that package wgsl
// prints.
func BenchmarkEmittedProduct128(b *testing.B) {
	g, err := ir.Parse(op.Registry, `graph g(%x: f32[128,128], %w: f32[128,128]) {
  %y: f32[128,128] = matmul %x, %w
  return %y
}`)
	if err != nil {
		b.Fatal(err)
	}
	program, err := wgsl.NewProgram(g, wgsl.DefaultTarget)
	if err != nil {
		b.Fatal(err)
	}
	device, m := wgsl.NewSimulator(), memory(program.Plan)
	for b.Loop() {
		if err := device.Run(context.Background(), program.Plan, m); err != nil {
			b.Fatal(err)
		}
	}
}
