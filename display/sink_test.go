package display

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
)

// install makes a recorder the process-wide sink for one test.
func install(t *testing.T) *recorder {
	t.Helper()
	r := &recorder{}
	SetSink(r)
	t.Cleanup(func() { SetSink(nil) })
	return r
}

func TestShowGoesToTheProcessSink(t *testing.T) {
	r := install(t)
	Show(1, "two")
	ShowID("id", 3)
	Update("id", 4)
	Clear(true)
	want := []Output{
		{Bundle: Text("1")}, {Bundle: Text("two")}, {Bundle: Text("3"), ID: "id"}, {Bundle: Text("4"), ID: "id", Update: true},
	}
	if !reflect.DeepEqual(r.outputs, want) || !reflect.DeepEqual(r.clears, []bool{true}) {
		t.Errorf("got %v, clears %v", r.outputs, r.clears)
	}
}

func TestContextSinkComesFirst(t *testing.T) {
	process, own := install(t), &recorder{}
	if err := ShowContext(WithSink(context.Background(), own), "x"); err != nil {
		t.Fatal(err)
	}
	if len(process.outputs) != 0 || len(own.outputs) != 1 {
		t.Errorf("process sink has %d outputs, the context's %d", len(process.outputs), len(own.outputs))
	}
}

type failingSink struct{ err error }

func (f failingSink) Show(Output) error { return f.err }
func (f failingSink) Clear(bool) error  { return f.err }

func TestShowContextReturnsTheSinksError(t *testing.T) {
	gone := errors.New("gone")
	if err := ShowContext(WithSink(context.Background(), failingSink{gone}), 1); !errors.Is(err, gone) {
		t.Errorf("got %v", err)
	}
}

func TestTextSink(t *testing.T) {
	var b bytes.Buffer
	s := &textSink{w: &b}
	for _, o := range []Output{{Bundle: Text("a")}, {Bundle: Text("b\n"), ID: "x"}, {Bundle: Text("c"), ID: "x", Update: true}} {
		if err := s.Show(o); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Show(Output{}); err == nil {
		t.Error("no error for an output without text")
	}
	if got := b.String(); got != "a\nb\nc\n" {
		t.Errorf("printed %q", got)
	}
}

func TestWire(t *testing.T) {
	data, metadata := Bundle{
		Data: map[string]any{mimePNG: []byte{1, 2}, mimeSVG: []byte("<svg/>"), mimeText: "t", mimeJSON: json.RawMessage(`{"a":1}`)},
	}.Wire()
	want := map[string]any{mimePNG: "AQI=", mimeSVG: "<svg/>", mimeText: "t", mimeJSON: json.RawMessage(`{"a":1}`)}
	if !reflect.DeepEqual(data, want) {
		t.Errorf("data %v", data)
	}
	if metadata == nil {
		t.Error("metadata is nil")
	}
	if data, metadata := (Bundle{}).Wire(); data == nil || metadata == nil {
		t.Error("empty bundle gives a nil map")
	}
}

func TestRawBundles(t *testing.T) {
	tests := []struct {
		b          Bundle
		mime, text string
	}{
		{HTML("<p>a &lt; <b>b</b></p><style>x{}</style><ul><li>c<li>d</ul><script>no()</script>"), mimeHTML, "a < b\nc\nd"},
		{HTML("<table><tr><td>1</td><td>2</td></tr><tr><td>3</table>"), mimeHTML, "1 2\n3"},
		{Markdown("# a"), mimeMarkdown, "# a"},
		{LaTeX("$x$"), mimeLaTeX, "$x$"},
		{Mermaid("flowchart TD"), mimeMermaid, "flowchart TD"},
		{SVG("<svg/>"), mimeSVG, "SVG image, 6 bytes"},
		{PNG([]byte("no image")), mimePNG, "PNG image, 8 bytes"},
		{JSON(map[string]int{"a": 1}), mimeJSON, "{\n  \"a\": 1\n}"},
	}
	for _, test := range tests {
		if got := test.b.text(); got != test.text || test.b.Data[test.mime] == nil {
			t.Errorf("%s: text %q, want %q", test.mime, got, test.text)
		}
	}
	if b := JSON(func() {}); b.Data[mimeJSON] != nil || !strings.Contains(b.text(), "unsupported type") {
		t.Errorf("a function as JSON shows %v", b.Data)
	}
}

func FuzzHTMLText(f *testing.F) {
	f.Add("<p>a<br>b</p>")
	f.Add("</script><script><!-- <td")
	f.Fuzz(func(t *testing.T, s string) { HTML(s) })
}
