package cpu_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"forgekernel/forge/backend/conformance"
	"forgekernel/forge/backend/cpu"
	"forgekernel/forge/backend/interp"
	"forgekernel/forge/ir"
	"forgekernel/forge/op"
	"forgekernel/forge/suite"
)

func TestParseSchedule(t *testing.T) {
	for text, want := range map[string]cpu.Schedule{
		"default":                      {},
		"tile=8x3":                     {Rows: 8, Vectors: 3},
		"tile=8x3 block=64 width=16":   {Rows: 8, Vectors: 3, Block: 64, Width: 16},
		"form=sweeps tile=1x1 width=8": {Form: "sweeps", Rows: 1, Vectors: 1, Width: 8},
		"chains=2 unroll=4":            {Chains: 2, Unroll: 4},
		"keys=12 width=4":              {Keys: 12, Width: 4},
		"form=dots tile=4x4 block=1":   {Form: "dots", Rows: 4, Vectors: 4, Block: 1},
		"block=1073741824 unroll=8":    {Block: 1 << 30, Unroll: 8},
		"tile=16x16 chains=8 keys=16":  {Rows: 16, Vectors: 16, Chains: 8, Keys: 16},
		"form=tiles tile=2x1 unroll=1": {Form: "tiles", Rows: 2, Vectors: 1, Unroll: 1},
		"tile=1x1 chains=1 keys=1":     {Rows: 1, Vectors: 1, Chains: 1, Keys: 1},
		"form=flat tile=8x3":           {Form: "flat", Rows: 8, Vectors: 3},
		"form=tiles":                   {Form: "tiles"},
	} {
		got, err := cpu.ParseSchedule(text)
		if err != nil || got != want || got.String() != text {
			t.Errorf("%q reads as %+v, written %q: %v", text, got, got, err)
		}
	}
	for text, want := range map[string]string{
		"":                  "as it is written",
		"tile=8":            "a number from 1 to 16",
		"tile=0x1":          "a number from 1 to 16",
		"tile=99x1":         "a number from 1 to 16",
		"unroll=-1":         "a number from 1 to 8",
		"block=4294967296":  "a number from 1 to 1073741824",
		"form=spiral":       "the forms are",
		"speed=9":           `no part "speed=9"`,
		"width=16 tile=8x3": "as it is written",
		"width=8 width=8":   "as it is written",
		" tile=8x3":         "as it is written",
		"tile=+8x3":         "as it is written",
		"default width=8":   `no part "default"`,
	} {
		if s, err := cpu.ParseSchedule(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q reads as %v with error %v, want one with %q", text, s, err, want)
		}
	}
}

func FuzzParseSchedule(f *testing.F) {
	f.Add("form=tiles tile=8x3 block=64 chains=2 unroll=2 keys=8 width=16")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := cpu.ParseSchedule(text)
		if err == nil && s.String() != text {
			t.Errorf("%q reads as %q", text, s)
		}
	})
}

// programs are kernels of odd sizes: no extent is a multiple of any tile, vector,
// block, chain or round.
var programs = []string{
	`graph f(%x: f32[13,19], %w: f32[19,37], %b: f32[37]) {
 %y: f32[13,37] = linear %x, %w, %b {act = "gelu"}
 return %y
}`,
	`graph f(%x: f32[3,70], %t: f32[21,70]) {
 %w: f32[70,21] = transpose %t {perm = [1, 0]}
 %y: f32[3,21] = matmul %x, %w
 return %y
}`,
	`graph f(%x: f32[2,5,7], %w: f32[2,7,10]) {
 %y: f32[2,5,10] = matmul %x, %w
 return %y
}`,
	`graph f(%q: f32[2,4,21,9], %k: f32[2,2,23,9], %v: f32[2,2,23,11]) {
 %y: f32[2,4,21,11] = sdpa %q, %k, %v {causal = true}
 return %y
}`,
	`graph f(%x: f32[2,3,11,13], %w: f32[5,3,3,3]) {
 %y: f32[2,5,11,13] = conv2d %x, %w {padding = [1, 1]}
 return %y
}`,
	`graph f(%x: f32[3,21]) {
 %y: f32[3,21] = layer_norm %x {axis = 1}
 return %y
}`,
}

// TestProposals runs everything that may be tried on odd sizes, and each kernel in
// all widths, and compares it with the float64 reference; the error may be a few
// times that of the interpreter.
func TestProposals(t *testing.T) {
	b := cpu.New()
	for _, text := range programs {
		g, err := ir.Parse(op.Registry, text)
		if err != nil {
			t.Fatal(err)
		}
		in, err := suite.Inputs(g, 1)
		if err != nil {
			t.Fatal(err)
		}
		want := run(t, compile(t, interp.Reference(), g), in)
		slow := conformance.Worst(run(t, compile(t, interp.New(), g), in), want)
		steps, _, err := b.Steps(g)
		if err != nil {
			t.Fatal(err)
		}
		step := steps[len(steps)-1]
		schedules := []cpu.Schedule{{Split: 1}, {Split: 3}}
		for width := b.Target.Lanes; width >= 4; width /= 2 {
			schedules = append(schedules, cpu.Schedule{Width: width})
		}
		for _, p := range step.Proposals {
			schedules = append(schedules, p.Schedule)
		}
		variants := make([]cpu.Schedules, len(schedules))
		for i, s := range schedules {
			variants[i] = cpu.Schedules{step.Shape: s}
		}
		list, err := b.CompileVariants(t.Context(), g, variants...)
		if err != nil {
			t.Fatal(err)
		}
		for i, exe := range list {
			if got := conformance.Worst(run(t, exe, in), want); !(got <= 4*slow+1e-6) {
				t.Errorf("%s as %v errs by %.3g, the interpreter by %.3g", step.Shape, schedules[i], got, slow)
			}
		}
	}
}

// bound are the kernels that are others by themselves: a rope is two kernels, and
// what llama_block calls %h stands in the place of %gate, which is a part of rows, so
// that it has their steps where it is written and where it is read.
var bound = map[string][]string{
	"llama_block": {"rope ", "fused 32x688 ", "matmul 32x256x688 "},
}

// TestIsolated takes the kernels of the suite out of their programs: each must be
// the same by itself, or it could not be measured.
func TestIsolated(t *testing.T) {
	for _, name := range suite.Names() {
		g, _ := model(t, name)
		steps, _, err := cpu.New().Steps(g)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range steps {
			expected := slices.ContainsFunc(bound[name], func(shape string) bool { return strings.HasPrefix(s.Shape, shape) })
			if s.Graph == nil && !expected {
				t.Errorf("%s: %s is no program by itself: %s", name, s.Shape, s.Reason)
			}
			if s.Graph == nil {
				continue
			}
			alone, _, err := cpu.New().Steps(s.Graph)
			if err != nil {
				t.Fatal(err)
			}
			if len(alone) != 1 || alone[0].Shape != s.Shape {
				t.Errorf("%s: %s by itself is %v", name, s.Shape, alone)
			}
		}
	}
}

// TestChoose has schedules that are used, and one that no vectors can have.
func TestChoose(t *testing.T) {
	g, err := ir.Parse(op.Registry, programs[0])
	if err != nil {
		t.Fatal(err)
	}
	b := cpu.New()
	var asked []string
	b.Choose = func(_ context.Context, program []string) cpu.Schedules {
		asked = program
		return cpu.Schedules{program[0]: {Rows: 2, Vectors: 1}, "another": {Rows: 3, Vectors: 1}}
	}
	exe := compile(t, b, g)
	if len(asked) != 1 || !strings.HasPrefix(asked[0], "linear 13x37x19 #") {
		t.Errorf("the program is described as %q", asked)
	}
	if reason := exe.Kernels()[0].Reason; !strings.Contains(reason, "tiles of 2 rows by 1 vectors") || !strings.Contains(reason, "; tuned: form=tiles tile=2x1 block=13 ") {
		t.Errorf("the kernel is told to be %s", reason)
	}
	b.Choose = func(_ context.Context, program []string) cpu.Schedules { return cpu.Schedules{program[0]: {Width: 5}} }
	if _, err := b.Compile(t.Context(), g); err == nil || !strings.Contains(err.Error(), "has no vectors of 5 floats") {
		t.Errorf("got error %v", err)
	}
	b.Choose = func(_ context.Context, program []string) cpu.Schedules {
		return cpu.Schedules{program[0]: {Rows: 16, Vectors: 8}}
	}
	if _, err := b.Compile(t.Context(), g); err == nil || !strings.Contains(err.Error(), "vector registers") {
		t.Errorf("got error %v", err)
	}
}

// TestLoop runs a program many times in one call.
func TestLoop(t *testing.T) {
	g, err := ir.Parse(op.Registry, programs[0])
	if err != nil {
		t.Fatal(err)
	}
	in, err := suite.Inputs(g, 1)
	if err != nil {
		t.Fatal(err)
	}
	list, err := cpu.New().CompileVariants(t.Context(), g, nil)
	if err != nil {
		t.Fatal(err)
	}
	loop, err := cpu.NewLoop(list[0], in...)
	if err != nil {
		t.Fatal(err)
	}
	if err := loop.Run(t.Context(), 100); err != nil {
		t.Error(err)
	}
	if _, err := cpu.NewLoop(list[0], in[0]); err == nil {
		t.Error("a loop without all inputs")
	}
	if _, err := cpu.NewLoop(compile(t, interp.New(), g), in...); err == nil || !strings.Contains(err.Error(), "not one native function") {
		t.Errorf("a loop of the interpreter: %v", err)
	}
}
