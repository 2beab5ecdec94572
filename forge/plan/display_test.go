package plan

import (
	"bytes"
	"encoding/json"
	"image/png"
	"slices"
	"strings"
	"testing"
)

func TestDisplay(t *testing.T) {
	p := samplePlan(t)
	b := p.Display()
	text := b.Data["text/plain"].(string)
	for _, want := range []string{
		"sample: planned", "lower bound", "each thread needs up to 128 B of scratch",
		"freed - produced", "view of %b", "in place of %a", "in place of %cache", "view of %d, copied out", "slot 0", "in use, at most",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the text lacks %q:\n%s", want, text)
		}
	}
	svg := b.Data["image/svg+xml"].(string)
	for _, want := range []string{"Memory of sample", ">%a</text>", ">%n</text>", "KiB"} {
		if !strings.Contains(svg, want) {
			t.Errorf("the picture lacks %q:\n%s", want, svg)
		}
	}
	if _, err := png.Decode(bytes.NewReader(b.Data["image/png"].([]byte))); err != nil {
		t.Error(err)
	}
}

// In the step in which one value takes over another's place, each has half.
func TestChartOfDonation(t *testing.T) {
	p := samplePlan(t)
	c := p.charted()
	a, b := p.value("a"), p.value("c")
	for _, x := range c.Tenants {
		switch x.Label {
		case "%a":
			if x.End != float64(a.End)+0.5 {
				t.Errorf("a ends at %v in step %d", x.End, a.End)
			}
		case "%c":
			if x.Start != float64(b.Start)+0.5 {
				t.Errorf("c starts at %v in step %d", x.Start, b.Start)
			}
		}
	}
	if len(c.Tenants) != 5 {
		t.Errorf("%d tenants: %+v", len(c.Tenants), c.Tenants)
	}
}

// The JSON form has these fields and no others; a change is a change for its
// readers.
func TestJSON(t *testing.T) {
	raw, err := json.Marshal(samplePlan(t))
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(raw, &got); err != nil {
		t.Fatal(err)
	}
	check := func(of string, got any, want ...string) {
		t.Helper()
		var keys []string
		for k := range got.(map[string]any) {
			keys = append(keys, k)
		}
		slices.Sort(keys)
		slices.Sort(want)
		if !slices.Equal(keys, want) {
			t.Errorf("%s has %v, want %v", of, keys, want)
		}
	}
	check("the plan", got, "format", "version", "program", "policy", "packing", "naive_bytes", "planned_bytes", "lower_bound_bytes", "any_schedule_bytes", "scratch_bytes", "ratio", "steps", "slots", "values", "candidates")
	first := func(list string) any { return got[list].([]any)[0] }
	check("a step", first("steps"), "op", "results", "live_bytes", "scratch_bytes")
	check("a slot", first("slots"), "dtype", "device", "bytes")
	check("an input", first("values"), "name", "dtype", "device", "shape", "bytes", "place", "offset", "strides", "start", "end", "base")
	check("a candidate", first("candidates"), "policy", "lower_bound_bytes", "planned_bytes", "packing")
	values := got["values"].([]any)
	view := values[slices.IndexFunc(values, func(v any) bool { return v.(map[string]any)["name"] == "v" })]
	check("a view", view, "name", "dtype", "device", "shape", "bytes", "place", "slot", "offset", "strides", "start", "end", "base", "view_of")
	if got["format"] != "forge.plan" || got["version"] != float64(JSONVersion) {
		t.Errorf("format %v, version %v", got["format"], got["version"])
	}
}
