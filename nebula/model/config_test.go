package model

import (
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"

	"forgekernel/forge/tensor"
	"forgekernel/nebula/shard"
)

func TestParseConfig(t *testing.T) {
	for _, want := range append(small(), TinyDecoder()) {
		raw, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		got, err := ParseConfig(raw)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s becomes %+v, %v", raw, got, err)
		}
	}
}

func TestConfigErrors(t *testing.T) {
	for change, want := range map[string]string{
		`"family":"gemma"`:                   `family "gemma" is unknown; there are tiny, gpt2, llama`,
		`"vocab":0`:                          "vocab is 0; it must be 1 to 16777216",
		`"heads":1000000,"head_dim":1000000`: "heads * head_dim is 1000000000000; it must be 1 to 1048576",
		`"heads":9223372036854775807`:        "heads is 9223372036854775807",
		`"kv_heads":3`:                       "4 heads cannot share 3 kv_heads evenly",
		`"kv_heads":8`:                       "4 heads cannot share 8 kv_heads evenly",
		`"eps":-1`:                           "eps is -1",
		`"rope":null`:                        "the llama family needs rope",
		`"family":"tiny"`:                    "the tiny family has learned positions and no rope",
		`"family":"gpt2","rope":null,"qkv_bias":true`: "qkv_bias and out_bias are for the llama family",
		`"head_dim":7`:                                    "rope: the 7 channels of a head cannot turn in pairs",
		`"rope":{"base":1}`:                               "rope: base is 1",
		`"rope":{"base":1e9,"scaling":"ntk"}`:             `rope: scaling "ntk" is unknown`,
		`"rope":{"base":1e9,"scaling":"linear"}`:          "rope: factor is 0",
		`"rope":{"base":1e9,"scaling":"yarn","factor":2}`: "rope: original_context is 0",
		`"rope":{"base":1e9,"scaling":"llama3","factor":2,"original_context":8,"low_factor":4,"high_factor":4}`: "must be positive and rise",
		`"rope":{"base":1e9,"scaling":"yarn","factor":2,"original_context":8,"beta_fast":1,"beta_slow":2}`:      "must be positive and not fall",
		`"rope":{"base":1e9,"scaling":"yarn","factor":2,"original_context":8,"beta_fast":2,"beta_slow":1}`:      "attention is 0",
		`"rope":{"base":1e9,"scaling":"factors","factors":[1]}`:                                                 "there are 1 factors for 4 pairs",
		`"rope":{"base":1e9,"scaling":"factors","factors":[1,1,0,1]}`:                                           "a factor is not positive",
		`"experts":8`:   `there is no field "experts"`,
		`"layers":"2"`:  "layers: text stands where a whole number belongs",
		`"layers":2} {`: "there is more after its end",
	} {
		const base = `"family":"llama","vocab":32,"hidden":16,"layers":2,"heads":4,"kv_heads":2,"head_dim":8,"ff":24,"context":64,"eps":1e-5,"rope":{"base":10000}`
		_, err := ParseConfig([]byte("{" + base + "," + change + "}"))
		if err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "configuration: ") {
			t.Errorf("%s: got %v, want %q", change, err, want)
		}
	}
	if _, err := ParseConfig(make([]byte, maxConfig+1)); err == nil {
		t.Error("a configuration of any size is read")
	}
}

// FuzzConfig checks that whatever is accepted has parameters of sizes that can be
// computed, at every rank of some layouts.
func FuzzConfig(f *testing.F) {
	for _, c := range small() {
		raw, err := json.Marshal(c)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
	f.Add([]byte(`{"family":"llama","rope":{"base":1e12,"scaling":"yarn","factor":1e12,"original_context":1,"beta_fast":1e12,"beta_slow":1e-300,"attention":1}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		c, err := ParseConfig(raw)
		if err != nil || c.Layers > 64 {
			return
		}
		checkSizes(t, c)
		if c.Rope == nil || c.HeadDim > 1024 {
			return
		}
		for _, w := range c.Rope.frequencies(c.HeadDim) {
			if math.IsNaN(w) || math.IsInf(w, 0) || w < 0 {
				t.Fatalf("%s: a frequency is %v", raw, w)
			}
		}
	})
}

// checkSizes adds the parts of all ranks up.
func checkSizes(t *testing.T, c Config) {
	t.Helper()
	if n := c.Parameters(); n <= 0 {
		t.Fatalf("%+v has %d parameters", c, n)
	}
	for _, l := range []shard.Layout{{TP: 1, PP: 1}, {TP: 2, PP: 1}, {TP: c.KVHeads, PP: 2}} {
		if l.Ranks() > 64 || l.Check(c.Dims()) != nil {
			continue
		}
		covered := make(map[string]int)
		for _, p := range l.Places() {
			for _, w := range c.Params(p) {
				if w.Axis >= 0 {
					covered[w.Name] += w.To - w.From
				}
			}
			if p.TPRank() == 0 && p.First() && c.WeightBytes(p, tensor.F32) > 4*c.Parameters() {
				t.Fatalf("%v: rank 0 holds more than all", l)
			}
		}
		for _, w := range c.Params(shard.Single()) {
			if whole := w.Axis >= 0; whole && covered[w.Name]%w.Shape[w.Axis] != 0 {
				t.Fatalf("%v: ranks hold %d of %d of %s", l, covered[w.Name], w.Shape[w.Axis], w.Name)
			}
		}
	}
}

// TestSizes compares with the published number of parameters of real models, and
// with the formulas by hand.
func TestSizes(t *testing.T) {
	for name, want := range map[string]int64{"smollm2-135m": 134515008, "gpt2": 124439808, "llama-3.2-1b": 1235814400, "llama-3.1-8b": 8030261248} {
		c, err := Shape(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Check(); err != nil {
			t.Fatal(err)
		}
		if got := c.Parameters(); got != want {
			t.Errorf("%s has %d parameters, want %d", name, got, want)
		}
		checkSizes(t, c)
	}
	if _, err := Shape("llama"); err == nil || err.Error() != `no model is known as "llama"; there are gpt2, llama-3.1-8b, llama-3.2-1b, smollm2-135m, tiny` {
		t.Error(err)
	}
	llama8B := shapes["llama-3.1-8b"]
	half := shard.Place{Layout: shard.Layout{TP: 2, PP: 2}, Rank: 3}
	if got, want := llama8B.CacheBytes(half, 4, 1024, tensor.BF16), int64(2*16*4*1024*4*128*2); got != want {
		t.Errorf("the cache has %d bytes, want %d", got, want)
	}
	if got, want := llama8B.CacheBytes(shard.Place{Layout: shard.Layout{TP: 16, PP: 1}}, 1, 1024, tensor.F32), int64(2*32*1024*1*128*4); got != want {
		t.Errorf("with a KV head on two ranks the cache has %d bytes, want %d", got, want)
	}
}
