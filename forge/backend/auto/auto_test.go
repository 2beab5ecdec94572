package auto

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"forgekernel/forge/backend"
	"forgekernel/forge/backend/conformance"
	"forgekernel/forge/backend/cpu"
	"forgekernel/forge/backend/cuda"
	"forgekernel/forge/backend/interp"
	"forgekernel/forge/backend/portable"
	"forgekernel/forge/backend/tiered"
	"forgekernel/forge/ir"
	"forgekernel/forge/op"
)

// conv is a convolution of an image of n by n.
func conv(n int) string {
	return fmt.Sprintf("graph f(%%x: f32[1,1,%[1]d,%[1]d], %%w: f32[4,1,3,3]) {\n %%y: f32[1,4,%[1]d,%[1]d] = conv2d %%x, %%w {padding = [1, 1]}\n return %%y\n}", n)
}

// TestRules has a program for each rule.
func TestRules(t *testing.T) {
	t.Setenv("FORGE_CACHE_DIR", t.TempDir())
	t.Setenv("FORGE_CC", "/bin/false")
	found := func() (string, error) { return "/bin/false", nil }
	for name, c := range map[string]struct {
		source string
		find   func() (string, error)
		pick   string
		why    string
	}{
		"device":      {"graph f(%x: f32[4] on cuda) {\n %y: f32[4] on cuda = exp %x\n return %y\n}", found, "interp", "%x is for device cuda"},
		"no kernels":  {"graph f(%x: f64[512,512]) {\n %y: f64[512,512] = exp %x\n return %y\n}", found, "interp", "exp of f64 has no scalar form"},
		"small":       {"graph f(%x: f32[4]) {\n %y: f32[4] = exp %x\n return %y\n}", found, "portable", "would not repay compiling C"},
		"no compiler": {"graph f(%x: f32[64,64]) {\n %y: f32[64,64] = matmul %x, %x\n return %y\n}", func() (string, error) { return "", cpu.NoCompiler{} }, "portable", "there is no C compiler"},
		"bad setting": {"graph f(%x: f32[64,64]) {\n %y: f32[64,64] = matmul %x, %x\n return %y\n}", func() (string, error) { return "", errors.New("FORGE_CC is wrong") }, "portable", "FORGE_CC is wrong"},
		"large":       {"graph f(%x: f32[64,64]) {\n %y: f32[64,64] = matmul %x, %x\n return %y\n}", found, "tiered", "worth compiling C"},
		// 4,608 operations, which are 230,400 of vector functions.
		"conv":              {conv(8), found, "tiered", "worth compiling C, in the background, for its 4608 floating-point operations (the 4608 of conv2d, without vector functions, count 50 times)"},
		"conv, small":       {conv(4), found, "interp", "no node has a kernel of vector functions: its kernel has no vector form"},
		"conv, no cc":       {conv(8), func() (string, error) { return "", cpu.NoCompiler{} }, "interp", "its kernel has no vector form"},
		"among others":      {"graph f(%x: f32[1,1,8,8], %w: f32[4,1,3,3], %d: f16[4]) {\n %c: f32[1,4,6,6] = conv2d %x, %w\n %y: f32[1,4,6,6] = exp %c\n %e: f16[4] = neg %d\n return %y, %e\n}", found, "portable", "its 2740 floating-point operations (the 2596 of neg and conv2d, without vector functions, count 50 times) would not repay compiling C"},
		"f64, large":        {"graph f(%x: f64[64,64]) {\n %y: f64[64,64] = matmul %x, %x\n return %y\n}", found, "tiered", "worth compiling C"},
		"f64, not compiled": {"graph f(%x: f64[64,64]) {\n %y: f64[64,64] = matmul %x, %x\n return %y\n}", func() (string, error) { return "", cpu.NoCompiler{} }, "interp", "vectors hold f32"},
		"no work":           {"graph f(%x: f32[4]) {\n return %x\n}", found, "portable", "its 0 floating-point operations"},
	} {
		t.Run(name, func(t *testing.T) {
			g, err := ir.Parse(op.Registry, c.source)
			if err != nil {
				t.Fatal(err)
			}
			b := New(1)
			b.find, b.device = c.find, noDevice
			b.tiered = &tiered.Backend{First: portable.New(), Second: cpu.New(), Work: tiered.NewWork(context.Background())}
			t.Cleanup(b.tiered.Work.Stop)
			exe, err := b.Compile(t.Context(), g)
			if err != nil {
				t.Fatal(err)
			}
			want := "Backend " + c.pick + " was picked: "
			if notes := backend.Notes(exe); !strings.HasPrefix(notes[0], want) || !strings.Contains(notes[0], c.why) {
				t.Errorf("the notes are %q, want %s and %s", notes, want, c.why)
			}
			if list := exe.Kernels(); name != "no work" && !strings.Contains(list[0].Reason, c.why) {
				t.Errorf("the kernels are %v", list)
			}
		})
	}
}

func noDevice() (*device, error) { return nil, nil }

// TestDevice has a program for each end of the rule about devices.
func TestDevice(t *testing.T) {
	t.Setenv("FORGE_CACHE_DIR", t.TempDir())
	noCompiler := func() (string, error) { return "", cpu.NoCompiler{} }
	gpu := func(compile error, bf16 bool) func() (*device, error) {
		return func() (*device, error) { return &device{fakeDevice{interp.New(), compile}, bf16}, nil }
	}
	large := "graph f(%x: f32[2048,2048]) {\n %y: f32[2048,2048] = matmul %x, %x\n return %y\n}"
	for name, c := range map[string]struct {
		source string
		device func() (*device, error)
		pick   string
		why    string
	}{
		"large":       {large, gpu(nil, true), "device", "a run is estimated to take"},
		"small":       {"graph f(%x: f32[64,64]) {\n %y: f32[64,64] = matmul %x, %x\n return %y\n}", gpu(nil, true), "portable", "there is no C compiler"},
		"copies":      {"graph f(%x: f32[4096,4096]) {\n %y: f32[4096,4096] = exp %x\n return %y\n}", gpu(nil, true), "portable", "there is no C compiler"},
		"bf16":        {strings.ReplaceAll(large, "f32", "bf16"), gpu(nil, false), "interp", "the GPU has no arithmetic in bf16"},
		"unsupported": {large, gpu(&cuda.Unsupported{Graph: "f", Reasons: []string{"%y = matmul: no kernel"}}, true), "portable", "f cannot run on a CUDA device: %y = matmul: no kernel"},
		"broken":      {large, func() (*device, error) { return nil, errors.New("no NVRTC") }, "portable", "the GPU cannot be used: no NVRTC"},
		"no device":   {large, noDevice, "portable", "there is no C compiler"},
	} {
		t.Run(name, func(t *testing.T) {
			g, err := ir.Parse(op.Registry, c.source)
			if err != nil {
				t.Fatal(err)
			}
			b := New(1)
			b.find, b.device = noCompiler, c.device
			exe, err := b.Compile(t.Context(), g)
			if err != nil {
				t.Fatal(err)
			}
			if notes := backend.Notes(exe); !strings.HasPrefix(notes[0], "Backend "+c.pick+" was picked: ") || !strings.Contains(notes[0], c.why) {
				t.Errorf("the notes are %q, want %s and %s", notes, c.pick, c.why)
			}
		})
	}
	g, err := ir.Parse(op.Registry, large)
	if err != nil {
		t.Fatal(err)
	}
	b, broken := New(1), errors.New("the device is gone")
	b.device = gpu(broken, true)
	if _, err := b.Compile(t.Context(), g); !errors.Is(err, broken) {
		t.Errorf("error %v, want %v", err, broken)
	}
}

// fakeDevice compiles as the interpreter does, or fails.
type fakeDevice struct {
	backend.Backend
	err error
}

func (fakeDevice) Name() string { return "device" }

func (f fakeDevice) Compile(ctx context.Context, g *ir.Graph) (backend.Executable, error) {
	if f.err != nil {
		return nil, f.err
	}
	return f.Backend.Compile(ctx, g)
}

// TestContract runs what all backends promise, on the one that was picked.
func TestContract(t *testing.T) { conformance.RunContract(t, New(1)) }

// TestGPU sees that a large program runs on the GPU of the host, and a small one does not.
func TestGPU(t *testing.T) {
	d, err := firstGPU()
	if d == nil {
		t.Skip("there is no GPU: ", err)
	}
	for source, pick := range map[string]string{
		"graph f(%x: f32[4096,4096]) {\n %y: f32[4096,4096] = matmul %x, %x\n return %y\n}": "cuda",
		"graph f(%x: f32[4,4]) {\n %y: f32[4,4] = matmul %x, %x\n return %y\n}":             "portable",
	} {
		g, err := ir.Parse(op.Registry, source)
		if err != nil {
			t.Fatal(err)
		}
		exe, err := New(1).Compile(t.Context(), g)
		if err != nil {
			t.Fatal(err)
		}
		if notes := backend.Notes(exe); !strings.HasPrefix(notes[0], "Backend "+pick+" was picked: ") {
			t.Errorf("the notes are %q", notes)
		}
	}
}
