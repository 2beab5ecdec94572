package verify

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"forgekernel/display"
	"forgekernel/kernel/notebook"
)

// maxDifferences bounds what is reported of one output.
const maxDifferences = 10

// outputs compares the outputs of one cell. Which stream was written to first
// is left to chance by programs with goroutines, so each is taken as a whole.
func (t *comparison) outputs(want, got []*notebook.Output) []Difference {
	var diffs []Difference
	wantRest, gotRest := rest(want), rest(got)
	for _, name := range []string{"stdout", "stderr"} {
		diffs = append(diffs, t.text(name, stream(want, name), stream(got, name))...)
	}
	for i := range max(len(wantRest), len(gotRest)) {
		where := fmt.Sprintf("output %d", i+1)
		switch {
		case i >= len(gotRest):
			diffs = append(diffs, Difference{Where: where, Detail: "is gone", Want: summary(wantRest[i])})
		case i >= len(wantRest):
			diffs = append(diffs, Difference{Where: where, Detail: "is new", Got: summary(gotRest[i])})
		default:
			diffs = append(diffs, t.output(where, wantRest[i], gotRest[i])...)
		}
	}
	return diffs
}

func stream(outputs []*notebook.Output, name string) string {
	var b strings.Builder
	for _, o := range outputs {
		if o.Type == notebook.Stream && o.Name == name {
			b.WriteString(o.Text)
		}
	}
	return b.String()
}

// rest is what is not a stream, but for meters: whether they show depends on the time.
func rest(outputs []*notebook.Output) []*notebook.Output {
	return slices.DeleteFunc(slices.Clone(outputs), func(o *notebook.Output) bool {
		meter, _ := o.Metadata[display.ProgressMark].(bool)
		return o.Type == notebook.Stream || meter
	})
}

// summary is an output in a few words.
func summary(o *notebook.Output) string {
	if o.Type == notebook.Error {
		return o.ErrorName + ": " + o.ErrorValue
	}
	if text, ok := o.MIME("text/plain"); ok {
		return excerpt(text)
	}
	return strings.Join(slices.Sorted(maps.Keys(o.Data)), ", ")
}

// excerpt is the beginning of a text.
func excerpt(text string) string {
	lines := strings.SplitAfter(text, "\n")
	if len(lines) > 6 {
		return strings.Join(lines[:6], "") + fmt.Sprintf("… %d more lines", len(lines)-6)
	}
	return text
}

func (t *comparison) output(where string, want, got *notebook.Output) []Difference {
	if want.Type != got.Type {
		return []Difference{{where, fmt.Sprintf("was %s, is %s", want.Type, got.Type), summary(want), summary(got)}}
	}
	if want.Type == notebook.Error {
		diffs := t.text(where+", error name", want.ErrorName, got.ErrorName)
		return append(diffs, t.text(where+", error message", want.ErrorValue, got.ErrorValue)...)
	}
	if isMeasurement(want) || isMeasurement(got) {
		return t.measurements(where, want, got)
	}
	var diffs []Difference
	all := maps.Clone(want.Data)
	maps.Copy(all, got.Data)
	for _, mime := range slices.Sorted(maps.Keys(all)) {
		place := where + ", " + mime
		w, stored := want.Data[mime]
		g, made := got.Data[mime]
		switch {
		case !made:
			diffs = append(diffs, Difference{Where: place, Detail: "is gone"})
		case !stored:
			diffs = append(diffs, Difference{Where: place, Detail: "is new"})
		default:
			diffs = append(diffs, t.content(place, mime, w, g)...)
		}
	}
	return diffs
}

// content compares one form of a display.
func (t *comparison) content(where, mime string, want, got any) []Difference {
	w, wantText := want.(string)
	g, gotText := got.(string)
	if !wantText || !gotText {
		return t.values(where, want, got)
	}
	switch mime {
	case "image/png", "image/jpeg", "image/gif":
		return t.images(where, w, g)
	case "text/html", "image/svg+xml":
		return t.text(where, perTag(w), perTag(g))
	default:
		return t.text(where, w, g)
	}
}

func perTag(markup string) string { return strings.ReplaceAll(markup, ">", ">\n") }

// values compares JSON.
func (t *comparison) values(where string, want, got any) []Difference {
	switch w := want.(type) {
	case map[string]any:
		if g, ok := got.(map[string]any); ok {
			return t.objects(where, w, g)
		}
	case []any:
		if g, ok := got.([]any); ok && len(g) == len(w) {
			var diffs []Difference
			for i := range w {
				diffs = append(diffs, t.values(fmt.Sprintf("%s[%d]", where, i), w[i], g[i])...)
			}
			return diffs
		}
	case string:
		if g, ok := got.(string); ok {
			return t.text(where, w, g)
		}
	case json.Number:
		if g, ok := got.(json.Number); ok && t.numbers(w.String(), g.String()) {
			return nil
		}
	default:
		if want == got {
			return nil
		}
	}
	return []Difference{{Where: where, Want: excerpt(jsonText(want)), Got: excerpt(jsonText(got))}}
}

func (t *comparison) objects(where string, want, got map[string]any) []Difference {
	var diffs []Difference
	all := maps.Clone(want)
	maps.Copy(all, got)
	for _, key := range slices.Sorted(maps.Keys(all)) {
		place := where + "." + key
		w, stored := want[key]
		g, made := got[key]
		switch {
		case !made:
			diffs = append(diffs, Difference{Where: place, Detail: "is gone", Want: excerpt(jsonText(w))})
		case !stored:
			diffs = append(diffs, Difference{Where: place, Detail: "is new", Got: excerpt(jsonText(g))})
		default:
			diffs = append(diffs, t.values(place, w, g)...)
		}
	}
	return diffs
}

func jsonText(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(b)
}
