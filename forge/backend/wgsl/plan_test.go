package wgsl_test

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"forgekernel/forge/backend/wgsl"
)

func example(t testing.TB) []byte {
	t.Helper()
	data, err := os.ReadFile("testdata/example.json")
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestPlanJSON: what is read is what was written.
func TestPlanJSON(t *testing.T) {
	p, err := wgsl.ReadPlan(example(t))
	if err != nil {
		t.Fatal(err)
	}
	data, err := p.JSON()
	if err != nil {
		t.Fatal(err)
	}
	again, err := wgsl.ReadPlan(data)
	if err != nil {
		t.Fatal(err)
	}
	if twice, _ := again.JSON(); !bytes.Equal(data, twice) || len(again.Dispatches) != 2 || again.Dispatches[0].Bindings[4].Buffer != 5 {
		t.Errorf("read and written again:\n%s\nthen\n%s", data, twice)
	}
	m := p.NewMemory()
	if err := m.Check(p); err != nil || m[3] != nil || len(m[5]) != 4 {
		t.Errorf("its memory: %v", err)
	}
	if p.Faulted(m) {
		t.Error("a fault word of 0 is a fault")
	}
	m[5][2] = 1
	if !p.Faulted(m) {
		t.Error("a fault word that is not 0 is none")
	}
}

// TestValidate changes one thing of a valid plan.
func TestValidate(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*wgsl.Plan)
		want   string
	}{
		{"version", func(p *wgsl.Plan) { p.Version = 2 }, "version 2"},
		{"feature", func(p *wgsl.Plan) { p.Features = []string{"subgroups"} }, `"subgroups" is none`},
		{"no limit", func(p *wgsl.Plan) { p.Limits.Groups = 0 }, "maxComputeWorkgroupsPerDimension is 0"},
		{"a limit of more than 32 bits", func(p *wgsl.Plan) { p.Limits.Groups = 1 << 32 }, "maxComputeWorkgroupsPerDimension is 4294967296, and may be from 1 to 2147483647"},
		{"a limit of more bytes than there are", func(p *wgsl.Plan) { p.Limits.BufferBytes = 1<<36 + 1 }, "maxBufferSize is 68719476737"},
		{"alignment", func(p *wgsl.Plan) { p.Limits.OffsetAlignment = 16 }, "minStorageBufferOffsetAlignment is 16"},
		{"odd alignment", func(p *wgsl.Plan) { p.Limits.OffsetAlignment = 96 }, "minStorageBufferOffsetAlignment is 96"},
		{"invocations beyond 64 bits", func(p *wgsl.Plan) {
			l := &p.Limits
			l.Invocations, l.WorkgroupX, l.WorkgroupY, l.WorkgroupZ = 1<<31-1, 1<<31-1, 1<<31-1, 1<<31-1
			p.Dispatches[0].Workgroup = [3]int{1 << 30, 1 << 30, 16}
		}, "maxComputeInvocationsPerWorkgroup"},
		{"source", func(p *wgsl.Plan) { p.Modules[1].Source = "" }, `"sum_rows" has no source`},
		{"kind", func(p *wgsl.Plan) { p.Buffers[0].Kind = "texture" }, `kind "texture"`},
		{"bytes", func(p *wgsl.Plan) { p.Buffers[3].Bytes = 6 }, "multiple of 4"},
		{"buffer size", func(p *wgsl.Plan) { p.Buffers[3].Bytes = 1 << 30 }, "maxBufferSize"},
		{"fault", func(p *wgsl.Plan) { p.Buffers[5].Bytes = 8 }, "a fault word"},
		{"dtype", func(p *wgsl.Plan) { p.Buffers[0].DType = "f8" }, `"f8"`},
		{"elem", func(p *wgsl.Plan) { p.Buffers[0].Elem = "u8" }, `"u8"`},
		{"shape", func(p *wgsl.Plan) { p.Buffers[0].Shape = []int{4, -1} }, "-1"},
		{"elements", func(p *wgsl.Plan) { p.Buffers[0].Shape = []int{4, 101} }, "do not fit"},
		{"overflow", func(p *wgsl.Plan) { p.Buffers[0].Shape = []int{1 << 31, 1 << 31, 4} }, ""},
		{"module", func(p *wgsl.Plan) { p.Dispatches[0].Module = 2 }, "module 2 is none of 2"},
		{"entry", func(p *wgsl.Plan) { p.Dispatches[0].Entry = "" }, "entry"},
		{"no groups", func(p *wgsl.Plan) { p.Dispatches[0].Groups[1] = 0 }, "maxComputeWorkgroupsPerDimension"},
		{"groups", func(p *wgsl.Plan) { p.Dispatches[0].Groups[0] = 65536 }, "maxComputeWorkgroupsPerDimension"},
		{"invocations", func(p *wgsl.Plan) { p.Dispatches[0].Workgroup = [3]int{16, 16, 2} }, "maxComputeInvocationsPerWorkgroup"},
		{"workgroup", func(p *wgsl.Plan) { p.Dispatches[0].Workgroup = [3]int{1, 1, 128} }, "not within 256, 256 and 64"},
		{"storage", func(p *wgsl.Plan) { p.Dispatches[1].Storage = 16<<10 + 4 }, "maxComputeWorkgroupStorageSize"},
		{"bindings", func(p *wgsl.Plan) { p.Dispatches[0].Bindings = make([]wgsl.Binding, 9) }, "maxStorageBuffersPerShaderStage"},
		{"buffer", func(p *wgsl.Plan) { p.Dispatches[0].Bindings[0].Buffer = 6 }, "buffer 6 is none of 6"},
		{"offset", func(p *wgsl.Plan) { p.Dispatches[0].Bindings[0].Offset = 4 }, "minStorageBufferOffsetAlignment"},
		{"size", func(p *wgsl.Plan) { p.Dispatches[0].Bindings[0].Size = 2 }, "multiple of 4"},
		{"range", func(p *wgsl.Plan) { p.Dispatches[0].Bindings[0].Offset = 256 }, "outside buffer"},
		{"far", func(p *wgsl.Plan) { p.Dispatches[0].Bindings[0].Offset = 1<<63 - 256 }, "outside buffer"},
		{"binding size", func(p *wgsl.Plan) { p.Limits.BindingBytes = 1024 }, "maxStorageBufferBindingSize"},
		{"written input", func(p *wgsl.Plan) { p.Dispatches[0].Bindings[0].Write = true }, "only the host fills"},
		{"twice", func(p *wgsl.Plan) { p.Dispatches[0].Bindings[0] = p.Dispatches[0].Bindings[3] }, "bound twice"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := new(wgsl.Plan)
			if err := json.Unmarshal(example(t), p); err != nil {
				t.Fatal(err)
			}
			c.change(p)
			if err := p.Validate(); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

// TestSimulatorRefuses has plans that are valid, and ask for what the simulator has not or
// for what their modules do not do.
func TestSimulatorRefuses(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*wgsl.Plan)
		want   string // in the error; empty where it runs
	}{
		{"as it is", func(*wgsl.Plan) {}, ""},
		{"a coarser alignment", func(p *wgsl.Plan) { p.Limits.OffsetAlignment = 512 }, ""},
		{"feature", func(p *wgsl.Plan) { p.Features = []string{wgsl.ShaderF16} }, "a simulation of a GPU on the host has no shader-f16, which example needs"},
		{"limit", func(p *wgsl.Plan) { p.Limits.Invocations = 257 }, "has a maxComputeInvocationsPerWorkgroup of 256, and example needs 257"},
		{"bytes", func(p *wgsl.Plan) { p.Limits.BufferBytes++ }, "has a maxBufferSize of 268435456, and example needs 268435457"},
		{"alignment", func(p *wgsl.Plan) { p.Limits.OffsetAlignment = 128 }, "has a minStorageBufferOffsetAlignment of 256, and example needs 128"},
		{"it writes what is only read", func(p *wgsl.Plan) { p.Dispatches[1].Bindings[1].Write = false }, `dispatch 1, %y = sum: binding 1: the plan and module sum_rows do not agree on whether "y" is written`},
		{"it only reads", func(p *wgsl.Plan) { p.Dispatches[1].Bindings[0].Write = true }, "binding 0: the plan and module sum_rows do not agree"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, err := wgsl.ReadPlan(example(t))
			if err != nil {
				t.Fatal(err)
			}
			if c.change(p); p.Validate() != nil {
				t.Fatal(p.Validate())
			}
			err = wgsl.NewSimulator().Run(t.Context(), p, p.NewMemory())
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

// FuzzReadPlan: no plan that is read breaks what validation promises.
func FuzzReadPlan(f *testing.F) {
	f.Add(example(f))
	f.Add([]byte(`{"version":1,"buffers":[{"kind":"fault","bytes":4}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := wgsl.ReadPlan(data)
		if err != nil {
			return
		}
		for _, d := range p.Dispatches {
			for _, b := range d.Bindings {
				if end := b.Offset + b.Size; b.Offset < 0 || end < b.Offset || end > p.Buffers[b.Buffer].Bytes {
					t.Fatalf("%+v reads outside its buffer", b)
				}
			}
		}
	})
}
