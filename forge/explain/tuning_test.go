package explain_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"forgekernel/forge"
)

// TestTuning explains a tuned program in all forms; the JSON has all samples.
func TestTuning(t *testing.T) {
	t.Setenv("FORGE_CACHE_DIR", t.TempDir())
	p, err := forge.Compile("def f(x: f32[5, 9], w: f32[9, 11]): return x @ w\n", forge.OnBackend("cpu"))
	if err != nil {
		t.Fatal(err)
	}
	record, err := p.TuneContext(t.Context(), forge.TuneOptions{Budget: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	r := p.Explain()
	data, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	if err := schema(t).Validate(doc); err != nil {
		t.Error(err)
	}
	var read struct {
		Tuning struct {
			Kernels []struct {
				Candidates []struct {
					Schedule string
					Samples  []float64 `json:"samples_s"`
				}
			}
		}
	}
	if err := json.Unmarshal(data, &read); err != nil {
		t.Fatal(err)
	}
	for i, c := range record.Kernels[0].Candidates {
		told := read.Tuning.Kernels[0].Candidates[i]
		if told.Schedule != c.Schedule.String() || len(told.Samples) != len(c.Samples) || len(c.Samples) < 20 {
			t.Errorf("candidate %d is told as %v, with %d of %d samples", i, told.Schedule, len(told.Samples), len(c.Samples))
		}
		if page := r.HTML(); !strings.Contains(page, c.Schedule.String()) {
			t.Errorf("the page does not show %v", c.Schedule)
		}
	}
	if text := r.Text(false); !strings.Contains(text, "\nTuning  ") || strings.Count(text, "form=") > 3 {
		t.Errorf("the text is not short:\n%s", text)
	}
}
