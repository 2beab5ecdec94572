package shader

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestFaults runs programs that a GPU would run to some end or none.
func TestFaults(t *testing.T) {
	for _, e := range corpus(t, "faults") {
		t.Run(e.name, func(t *testing.T) {
			m := parse(t, e.source)
			bindings, _ := e.buffers(t, m)
			err := m.Dispatch(context.Background(), Call{Groups: e.groups, Bindings: bindings, Limits: Limits{Work: 1 << 20}})
			var fault *Error
			if !errors.As(err, &fault) {
				t.Fatalf("error %v, want a fault in line %d", err, e.line)
			}
			if fault.Pos.Line != e.line || !strings.Contains(err.Error(), e.text) {
				t.Errorf("error %q, want line %d: %q", err, e.line, e.text)
			}
		})
	}
}

// TestMachineAfterFault checks that a fault leaves nothing behind for the next
// dispatch of the same module.
func TestMachineAfterFault(t *testing.T) {
	m := parse(t, `
@group(0) @binding(0) var<storage, read_write> out: array<u32>;
@group(0) @binding(1) var<storage, read> at: array<u32>;
var<workgroup> w: array<u32, 8>;
@compute @workgroup_size(8) fn main(@builtin(local_invocation_index) i: u32) {
  w[i] = i + 1u;
  workgroupBarrier();
  if (i > 3u) { out[at[i]] = w[7u - i]; }
}`)
	call := func(at ...uint32) ([]byte, error) {
		out := make([]byte, 32)
		return out, m.Dispatch(context.Background(), Call{Groups: [3]uint32{1, 1, 1},
			Bindings: map[Binding][]byte{{0, 0}: out, {0, 1}: intBytes(at...)}})
	}
	for range 3 {
		if _, err := call(0, 0, 0, 0, 4, 5, 6, 8); err == nil {
			t.Fatal("index out of bounds was accepted")
		}
		out, err := call(0, 0, 0, 0, 4, 5, 6, 7)
		if want := intBytes(0, 0, 0, 0, 4, 3, 2, 1); err != nil || !bytes.Equal(out, want) {
			t.Fatalf("%v: %v, want %v", err, out, want)
		}
	}
}

func TestCancel(t *testing.T) {
	m := parse(t, `@compute @workgroup_size(1) fn main() { var i = 0u; while (i < 1u) { i = i * 2u; } }`)
	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(20*time.Millisecond, cancel)
	err := m.Dispatch(ctx, Call{Groups: [3]uint32{1, 1, 1}, Limits: Limits{Work: 1 << 60}})
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("error %v", err)
	}
}

// TestRefusals are calls that do not fit.
func TestRefusals(t *testing.T) {
	const src = `
override n: u32;
@id(3) override f: f32 = 1.0;
struct S { a: vec4<f32>, b: array<vec2<f32>> }
@group(0) @binding(0) var<storage, read_write> out: S;
@group(0) @binding(1) var<storage, read> in: array<f32>;
@group(0) @binding(2) var<uniform> u: vec4<f32>;
var<workgroup> w: array<f32, n>;
@compute @workgroup_size(n) fn main(@builtin(local_invocation_index) i: u32) { w[i] = in[i] + u.x; out.b[i].x = w[i] * f; }
@compute @workgroup_size(8) fn other() { }`
	whole := func() Call {
		return Call{Entry: "main", Groups: [3]uint32{1, 1, 1}, Overrides: map[string]float64{"n": 4}, Bindings: map[Binding][]byte{
			{0, 0}: make([]byte, 64), {0, 1}: make([]byte, 64), {0, 2}: make([]byte, 16)}}
	}
	for _, c := range []struct {
		name   string
		change func(*Call)
		text   string
	}{
		{"entry point", func(c *Call) { c.Entry = "none" }, "no entry point 'none'"},
		{"two entry points", func(c *Call) { c.Entry = "" }, "no entry point ''"},
		{"missing buffer", func(c *Call) { delete(c.Bindings, Binding{0, 1}) }, "no buffer for 'in' at @group(0) @binding(1)"},
		{"another buffer", func(c *Call) { c.Bindings[Binding{1, 1}] = nil }, "4 buffers are given, 'main' uses 3"},
		{"small buffer", func(c *Call) { c.Bindings[Binding{0, 0}] = make([]byte, 28) }, "'out' has 28 bytes, it needs at least 32"},
		{"odd buffer", func(c *Call) { c.Bindings[Binding{0, 1}] = make([]byte, 30) }, "multiple of 4"},
		{"large buffer", func(c *Call) { c.Limits.StorageBytes = 60 }, "'out' has 64 bytes, the limit for storage buffers is 60"},
		{"large uniform", func(c *Call) { c.Limits.UniformBytes = 8 }, "the limit for uniform buffers is 8"},
		{"many buffers", func(c *Call) { c.Limits.StorageBuffers = 1 }, "uses 2 storage buffers, the limit is 1"},
		{"shared memory", func(c *Call) { c.Bindings[Binding{0, 1}] = c.Bindings[Binding{0, 0}][32:] }, "'out' and 'in' share memory"},
		{"groups", func(c *Call) { c.Groups[1] = 65536 }, "65536 workgroups in dimension 1, the limit is 65535"},
		{"no override", func(c *Call) { c.Overrides = nil }, "override 'n' has no value"},
		{"unknown override", func(c *Call) { c.Overrides["m"] = 1 }, "no override 'm'"},
		{"override by name with a number", func(c *Call) { c.Overrides["f"] = 1 }, "no override 'f'"},
		{"negative override", func(c *Call) { c.Overrides["n"] = -1 }, "cannot be represented as 'u32'"},
		{"infinite override", func(c *Call) { c.Overrides["3"] = 1e39 }, "cannot be represented as 'f32'"},
		{"no invocations", func(c *Call) { c.Overrides["n"] = 0 }, "workgroup size of 'main' is 0"},
		{"invocations", func(c *Call) { c.Overrides["n"] = 257 }, "the limit is 256"},
		{"workgroup memory", func(c *Call) { c.Limits.WorkgroupBytes = 12 }, "bytes of workgroup memory, the limit is 12"},
	} {
		t.Run(c.name, func(t *testing.T) {
			call := whole()
			c.change(&call)
			err := parse(t, src).Dispatch(context.Background(), call)
			if err == nil || !strings.Contains(err.Error(), c.text) {
				t.Errorf("error %v, want %q", err, c.text)
			}
		})
	}
	if err := parse(t, src).Dispatch(context.Background(), whole()); err != nil {
		t.Error(err)
	}
}

// TestUnsupported are parts of WGSL that this package names when it refuses
// them.
func TestUnsupported(t *testing.T) {
	for src, text := range map[string]string{
		"@group(0) @binding(0) var t: texture_2d<f32>;":                                     "texture_2d",
		"@group(0) @binding(0) var s: sampler;":                                             "sampler",
		"@fragment fn main() { }":                                                           "@fragment",
		"@vertex fn main() -> @builtin(position) vec4f { return vec4f(); }":                 "@vertex",
		"enable subgroups;":                                                                 "subgroups",
		"requires swizzle_assignment;":                                                      "swizzle_assignment",
		"struct S { @location(0) a: f32 }":                                                  "@location",
		"@compute @workgroup_size(1) fn main() { let x = subgroupAdd(1); }":                 "subgroupAdd",
		"@compute @workgroup_size(1) fn main(@builtin(subgroup_size) s: u32) { }":           "subgroup_size",
		"@compute @workgroup_size(1) fn main(@builtin(global_invocation_index) s: u32) { }": "global_invocation_index",
	} {
		if _, err := Parse(src); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%s: error %v, want one that names %s", src, err, text)
		}
	}
}

// TestConcurrentDispatches has goroutines share a module.
func TestConcurrentDispatches(t *testing.T) {
	k := softmaxCase(5, 150)
	m := parse(t, source(t, k.name))
	errs := make(chan error)
	for range 8 {
		go func() {
			for range 5 {
				call := k.calls()
				if err := m.Dispatch(context.Background(), call); err != nil {
					errs <- err
					return
				}
				if e := wrong(bytesFloats(call.Bindings[k.out]), k.want); e > k.tolerance {
					errs <- fmt.Errorf("relative error %g", e)
					return
				}
			}
			errs <- nil
		}()
	}
	for range 8 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
}
