package engine

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"forgekernel/forge/backend"
	"forgekernel/forge/backend/cuda"
	"forgekernel/forge/backend/cuda/driver"
	"forgekernel/forge/tensor"
	"forgekernel/nebula/model"
	"forgekernel/nebula/shard"
)

// gpus are the backends of so many GPUs, without which a test is skipped.
func gpus(t testing.TB, n int) []backend.Backend {
	t.Helper()
	gpu(t)
	lib, err := driver.Open()
	if err != nil {
		t.Fatal(err)
	}
	found, err := lib.Devices()
	if err != nil {
		t.Fatal(err)
	}
	if len(found) < n {
		t.Skipf("there are %d GPUs, and %d are needed", len(found), n)
	}
	var list []backend.Backend
	for i := range n {
		b, err := cuda.Open(i)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, b)
	}
	return list
}

// TestGPURanks compares small models on two GPUs, divided in either way, with the
// reference: in f32 greedy texts are the same.
func TestGPURanks(t *testing.T) {
	for _, c := range []model.Config{tinyConfig(), llamaConfig()} {
		for _, l := range []shard.Layout{{TP: 2, PP: 1}, {TP: 1, PP: 2}} {
			t.Run(fmt.Sprintf("%s/%v", c.Family, l), func(t *testing.T) {
				list := gpus(t, 2)
				m := seeded(t, c)
				e := local(t, m, l.TP, l.PP, LocalOptions{Options: Options{BlockSize: 4, Blocks: 64, MaxTokens: 24, MaxRows: 5}, Backends: list, Deadline: 20 * time.Second})
				gate := Gate{Tokens: 8, Tolerance: 1e-5}
				for i, n := range []int{1, 3, 17, 30} {
					gate.Prompts = append(gate.Prompts, prompt(i, n, c.Vocab))
				}
				report, err := gate.Check(t.Context(), e, reference(t, m))
				if err != nil {
					t.Fatal(err)
				}
				t.Logf("%+v", report)
			})
		}
	}
}

// BenchmarkGPURanks decodes one request with the shapes of Llama 3 in bf16, on one GPU
// and on two that share each layer, or the layers. FORGE_SHAPES picks some of the shapes.
func BenchmarkGPURanks(b *testing.B) {
	for _, name := range []string{"1B", "8B"} {
		if pick := os.Getenv("FORGE_SHAPES"); pick != "" && !strings.Contains(pick, name) {
			continue
		}
		m, err := model.Seeded(shapesOfLlama[name], 1)
		if err != nil {
			b.Fatal(err)
		}
		for _, l := range []shard.Layout{{TP: 1, PP: 1}, {TP: 2, PP: 1}, {TP: 1, PP: 2}} {
			b.Run(name+"/"+strings.ReplaceAll(l.String(), " ", ""), func(b *testing.B) { benchmarkGPURanks(b, m, l) })
		}
		m.Close()
	}
}

func benchmarkGPURanks(b *testing.B, m *model.Model, l shard.Layout) {
	start := time.Now()
	e, err := Local(b.Context(), m, l, LocalOptions{Backends: gpus(b, l.Ranks()), Options: Options{DType: tensor.BF16, Context: 2048, MaxRows: 1}, Deadline: 2 * time.Minute})
	if err != nil {
		b.Fatal(err)
	}
	defer func() {
		if err := e.Close(); err != nil {
			b.Error(err)
		}
	}()
	d := newDecoder(b, e)
	for d.pos < 128 {
		d.step(b)
	}
	b.Logf("ready after %v", time.Since(start).Round(time.Millisecond))
	var steps []time.Duration
	for b.Loop() {
		start := time.Now()
		d.step(b)
		steps = append(steps, time.Since(start))
	}
	slices.Sort(steps)
	b.ReportMetric(1e3*steps[len(steps)/2].Seconds(), "ms/token")
	b.ReportMetric(1e3*steps[0].Seconds(), "ms/token-least")
}
