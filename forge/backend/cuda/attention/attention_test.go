package attention

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"forgekernel/forge/backend/cuda/library"
	"forgekernel/forge/backend/cuda/nvrtc"
	"forgekernel/forge/tensor"
)

// dense are the steps of [batch, head, row, channel] in order.
func dense(heads, rows, channels int) Steps {
	return Steps{heads * rows * channels, rows * channels, channels, 1}
}

// plain is an attention of dense operands.
func plain(d tensor.DType, b, h, g, q, keys, channels int) Shape {
	return Shape{
		DType: d, Batches: b, Heads: h, Groups: g, Queries: q, Keys: keys, D: channels, E: channels, Scale: 0.125, Aligned: true,
		Q: dense(h, q, channels), K: dense(g, keys, channels), V: dense(g, keys, channels), Out: dense(h, q, channels),
	}
}

// pagedShape is a decode step over blocks of 16 keys.
func pagedShape(d tensor.DType, b, h, g, q, keys, channels int) Shape {
	s := plain(d, b, h, g, q, keys, channels)
	s.Causal = true
	s.K, s.V = dense(g, 16, channels), dense(g, 16, channels)
	s.Cache = &Cache{
		Pos: Index{tensor.I32, 1}, Length: &Index{tensor.I32, 1},
		Table: &Table{DType: tensor.I32, Row: keys / 16, Step: 1, Block: 16, Blocks: 2 * b * keys / 16},
	}
	return s
}

// shapes are one of each kind.
func shapes() map[string]Shape {
	causal := plain(tensor.BF16, 2, 8, 2, 100, 150, 64)
	causal.Causal = true
	odd := plain(tensor.F16, 1, 3, 1, 70, 70, 20)
	odd.Mask = &Mask{Steps: [4]int{0, 0, 70, 1}}
	strict := plain(tensor.F64, 1, 2, 2, 40, 9, 17)
	strict.Strict, strict.Mask = true, &Mask{Bool: true, Steps: [4]int{9, 0, 0, 1}}
	single := plain(tensor.F32, 1, 8, 8, 128, 128, 64)
	single.Causal = true
	chunk := pagedShape(tensor.BF16, 2, 32, 8, 256, 4096, 128)
	chunk.Cache.Length = nil
	widened := pagedShape(tensor.BF16, 1, 32, 8, 1, 4096, 128)
	widened.Widened = true
	small := pagedShape(tensor.F16, 2, 8, 4, 3, 256, 64)
	small.Cache.Table.Block, small.Cache.Table.DType, small.K, small.V = 4, tensor.I64, dense(4, 4, 64), dense(4, 4, 64)
	prefill := plain(tensor.BF16, 1, 32, 32, 4096, 4096, 128)
	prefill.Causal = true
	return map[string]Shape{
		"prefill": prefill,
		"causal":  causal, "odd": odd, "strict": strict, "single": single, "chunk": chunk, "widened": widened, "small": small,
		"steps": pagedShape(tensor.F32, 1, 4, 2, 1, 256, 64),
		"full":  pagedShape(tensor.BF16, 1, 20, 2, 1, 256, 64), "wide full": pagedShape(tensor.F16, 1, 20, 2, 1, 256, 128),
	}
}

// TestCandidates pins what there is for each shape; the first is the default.
func TestCandidates(t *testing.T) {
	hopper, turing := Device{90, 132, 227 << 10}, Device{75, 72, 64 << 10}
	for _, c := range []struct {
		shape string
		d     Device
		want  []string
	}{
		{"causal", hopper, []string{"flash attention, 2 warps with 32 rows by 64 keys", "attention row by row, keys split 8 ways"}},
		{"causal", turing, []string{"attention of 16 rows by 32 keys", "attention row by row, keys split 8 ways"}},
		{"odd", hopper, []string{"flash attention, 2 warps with 32 rows by 64 keys", "attention row by row, keys split 4 ways"}},
		{"strict", hopper, []string{"attention of 16 rows by 32 keys", "attention row by row, keys split 1 ways"}},
		{"prefill", hopper, []string{"flash attention, wgmma, 128 rows by 128 keys", "attention row by row, keys split 8 ways"}},
		{"prefill", Device{80, 108, 163 << 10}, []string{"flash attention, 4 warps with 128 rows by 64 keys", "attention row by row, keys split 8 ways"}},
		{"chunk", hopper, []string{"flash attention, wgmma, 128 rows by 128 keys", "attention row by row, keys split 8 ways"}},
		{"single", hopper, []string{"attention of 16 rows by 32 keys", "attention row by row, keys split 4 ways"}},
		{"widened", hopper, []string{"attention of 4 rows, keys split 33 ways", "attention row by row, keys split 64 ways"}},
		{"steps", hopper, []string{"attention row by row, keys split 8 ways", "attention row by row, keys split 8 ways"}},
	} {
		list, err := Candidates(shapes()[c.shape], c.d)
		if err != nil {
			t.Fatal(err)
		}
		first, last := list[0].Name, list[len(list)-1].Name
		if first != c.want[0] || last != c.want[1] {
			t.Errorf("%s on sm_%d: %q to %q, want %q", c.shape, c.d.Capability, first, last, c.want)
		}
	}
	wide := plain(tensor.F64, 1, 1, 1, 3, 3, 2)
	wide.E = 6000
	if _, err := Candidates(wide, hopper); err == nil || err.Error() != "values of 6000 channels are more than the 5120 that a block keeps" {
		t.Errorf("error %v", err)
	}
}

// joinedAppend is what happens to the token of a decode step before its attention.
func joinedAppend(s Shape) *Append {
	return &Append{
		From: tensor.F32, To: s.DType, Batches: 1, Heads: s.Heads, Groups: s.Groups, Tokens: 1, D: s.D, E: s.E, Frequencies: make([]float64, s.D/2),
		Q: dense(s.Heads, 1, s.D), K: dense(s.Groups, 1, s.D), V: dense(s.Groups, 1, s.E), Keys: s.K, Values: s.V, Cache: *s.Cache, Capacity: s.Keys,
	}
}

// TestJoined pins which attentions append their token themselves.
func TestJoined(t *testing.T) {
	hopper := Device{90, 132, 227 << 10}
	for name, s := range map[string]Shape{
		"attention of 4 rows, keys split 33 ways of 4 warps, which turn and append the token": pagedShape(tensor.BF16, 1, 32, 8, 1, 4096, 128),
		"": pagedShape(tensor.BF16, 2, 32, 8, 1, 4096, 128),
	} {
		list := s.Joined(joinedAppend(s), hopper)
		if name == "" && len(list) > 0 || name != "" && (len(list) != 2 || list[0].Name != name) {
			t.Errorf("%d kernels, want %q: %v", len(list), name, list)
		}
	}
	f32 := pagedShape(tensor.F32, 1, 32, 8, 1, 4096, 128)
	if list := f32.Joined(joinedAppend(f32), hopper); list != nil {
		t.Errorf("there are kernels of f32: %v", list)
	}
}

// TestJoinedRows sees that blocks have no more warps than their partial results have
// room for.
func TestJoinedRows(t *testing.T) {
	for _, c := range []struct {
		heads, channels int
		warps           []uint32
	}{{8, 64, []uint32{16, 8, 4}}, {20, 64, []uint32{16, 8, 4}}, {22, 64, []uint32{8, 4}}, {40, 64, []uint32{8, 4}}, {16, 128, []uint32{4, 8}}, {32, 128, []uint32{4}}} {
		s := pagedShape(tensor.BF16, 1, c.heads, 2, 1, 256, c.channels)
		var got []uint32
		for _, k := range s.Joined(joinedAppend(s), Device{90, 132, 227 << 10}) {
			got = append(got, k.Threads[0]/32)
		}
		if !slices.Equal(got, c.warps) {
			t.Errorf("%d heads of %d channels: blocks of %d warps, want %d", c.heads, c.channels, got, c.warps)
		}
	}
}

// TestCompile compiles every candidate of each kind of shape for the architectures that
// differ in instructions, and with FORGE_CONFORMANCE=full for all.
func TestCompile(t *testing.T) {
	c, err := nvrtc.Open()
	if missing := (*library.Missing)(nil); errors.As(err, &missing) {
		t.Skip("there is no NVRTC: ", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	architectures := []string{"sm_75", "sm_80", "sm_90a"}
	if os.Getenv("FORGE_CONFORMANCE") == "full" {
		architectures = nvrtc.Architectures
	}
	for _, arch := range architectures {
		t.Run(arch, func(t *testing.T) {
			var capability int
			if _, err := fmt.Sscanf(arch, "sm_%d", &capability); err != nil {
				t.Fatal(err)
			}
			text, count := file(t, Device{Capability: capability, SMs: 132, Shared: 99 << 10})
			if _, err := c.Compile(nvrtc.Source{Name: "attention.cu", Text: text, Arch: arch}); err != nil {
				t.Fatal(err)
			}
			t.Logf("%d kernels", count)
		})
	}
}

// file is all candidates of all shapes.
func file(t *testing.T, d Device) (text string, count int) {
	var b strings.Builder
	shared := make(map[string]bool)
	for name, s := range shapes() {
		list, err := Candidates(s, d)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if s.Cache != nil && s.Cache.Length != nil {
			list = append(list, s.Joined(joinedAppend(s), d)...)
		}
		for _, k := range list {
			for _, block := range k.Shared {
				if !shared[block] {
					b.WriteString(block)
				}
				shared[block] = true
			}
			b.WriteString(strings.ReplaceAll(k.Text, "@kernel@", fmt.Sprintf("kernel_%d", count)))
			count++
		}
	}
	return b.String(), count
}
