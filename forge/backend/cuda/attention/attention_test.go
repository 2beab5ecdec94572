package attention

import (
	"errors"
	"fmt"
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
	list := make(map[string]Shape)
	for _, d := range []tensor.DType{tensor.F32, tensor.F64, tensor.F16, tensor.BF16} {
		causal := plain(d, 2, 8, 2, 100, 150, 64)
		causal.Causal = true
		odd := plain(d, 1, 3, 1, 70, 70, 20)
		odd.Mask = &Mask{Steps: [4]int{0, 0, 70, 1}}
		strict := plain(d, 1, 2, 2, 5, 9, 17)
		strict.Strict, strict.Mask = true, &Mask{Bool: true, Steps: [4]int{9, 0, 0, 1}}
		big := plain(d, 1, 8, 8, 4096, 4096, 128)
		big.Causal = true
		chunk := pagedShape(d, 2, 32, 8, 256, 4096, 128)
		chunk.Cache.Length = nil
		for name, s := range map[string]Shape{
			"causal": causal, "odd": odd, "strict": strict, "big": big,
			"decode": pagedShape(d, 1, 32, 8, 1, 4096, 128), "decode64": pagedShape(d, 4, 8, 8, 3, 1024, 64), "chunk": chunk,
		} {
			list[fmt.Sprintf("%v/%s", d, name)] = s
		}
	}
	return list
}

// TestCompile compiles every candidate of each kind of shape for every architecture.
func TestCompile(t *testing.T) {
	c, err := nvrtc.Open()
	if missing := (*library.Missing)(nil); errors.As(err, &missing) {
		t.Skip("there is no NVRTC: ", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, arch := range nvrtc.Architectures {
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
