package model

import (
	"strings"
	"testing"

	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
	"forgekernel/nebula/shard"
)

func TestDivision(t *testing.T) {
	c, err := Shape("smollm2-135m")
	if err != nil {
		t.Fatal(err)
	}
	d, err := c.Divide(shard.Layout{TP: 2, PP: 2}, tensor.BF16)
	if err != nil {
		t.Fatal(err)
	}
	const want = `llama, 134515008 parameters, as bf16 in TP 2, PP 2
rank  stage  TP rank  layers of 30  heads of 9  KV heads of 3  FF channels of 1536  vocabulary of 49152  weights    cache per token
----  -----  -------  ------------  ----------  -------------  -------------------  -------------------  ---------  ---------------
   0      0        0  0–14          0–5         0–1            0–767                0–24575              81.91 MiB  7.5 KiB
   1      0        1  0–14          6–8         2              768–1535             24576–49151          73.47 MiB  3.75 KiB
   2      1        0  15–29         0–5         0–1            0–767                0–24575              81.91 MiB  7.5 KiB
   3      1        1  15–29         6–8         2              768–1535             24576–49151          73.47 MiB  3.75 KiB
`
	if got := d.table().Text(); got != want {
		t.Errorf("got\n%s", got)
	}
	if _, err := c.Divide(shard.Layout{TP: 4, PP: 1}, tensor.F32); err == nil || !strings.Contains(err.Error(), "TP 3 and TP 6") {
		t.Errorf("TP 4 of 3 KV heads: %v", err)
	}
}

// TestWeightBytes compares what is announced with the constants of programs.
func TestWeightBytes(t *testing.T) {
	for _, c := range small() {
		m := seed(t, c)
		for _, dtype := range []tensor.DType{tensor.F32, tensor.BF16} {
			for _, p := range (shard.Layout{TP: 2, PP: 3}).Places() {
				g := must(m.Graph(Form{Place: p, DType: dtype, Rows: 1, Tokens: 2, Cache: paged(1), Logits: Last}))
				if got, want := weightBytes(g), c.WeightBytes(p, dtype); got != want {
					t.Errorf("%s, %v, rank %d: the program has %d bytes of weights, %d were announced", describe(c), dtype, p.Rank, got, want)
				}
			}
		}
	}
}

// weightBytes adds constants up, but for single numbers and lists of indices.
func weightBytes(g *ir.Graph) int64 {
	var n int64
	for w := range constants(g) {
		if w.DType().IsFloat() {
			n += int64(w.Bytes())
		}
	}
	return n
}
