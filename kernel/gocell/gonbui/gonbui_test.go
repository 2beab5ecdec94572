package gonbui

import (
	"image"
	"slices"
	"strings"
	"testing"

	"forgekernel/display"
	"forgekernel/kernel/gocell/prompt"
)

type recorder struct{ outputs []display.Output }

func (r *recorder) Show(o display.Output) error { r.outputs = append(r.outputs, o); return nil }
func (r *recorder) Clear(bool) error            { return nil }

func record(t *testing.T) *recorder {
	r := &recorder{}
	display.SetSink(r)
	t.Cleanup(func() { display.SetSink(nil) })
	return r
}

func TestFirstUpdateShows(t *testing.T) {
	r := record(t)
	id := UniqueID()
	UpdateHTML(id, "<b>1</b>")
	UpdateHtml(id, "<b>2</b>")
	UpdateMarkdown(UniqueId(), "**3**")
	if len(r.outputs) != 3 {
		t.Fatalf("%d outputs, want 3", len(r.outputs))
	}
	for i, want := range []struct {
		update     bool
		mime, text string
	}{{false, "text/html", "<b>1</b>"}, {true, "text/html", "<b>2</b>"}, {false, "text/markdown", "**3**"}} {
		o := r.outputs[i]
		if o.Update != want.update || o.Bundle.Data[want.mime] != want.text || o.ID == "" {
			t.Errorf("output %d is %+v, want %+v", i, o, want)
		}
	}
	if r.outputs[0].ID != id || r.outputs[1].ID != id || r.outputs[2].ID == id {
		t.Errorf("ids %q, %q, %q do not pair up", r.outputs[0].ID, r.outputs[1].ID, r.outputs[2].ID)
	}
}

func TestDisplay(t *testing.T) {
	r := record(t)
	img := image.NewGray(image.Rect(0, 0, 2, 3))
	DisplayHtmlf("<i>%d</i>", 7)
	DisplayMarkdown("# x")
	DisplaySvg("<svg/>")
	if err := DisplayImage(img); err != nil {
		t.Fatal(err)
	}
	for i, mime := range []string{"text/html", "text/markdown", "image/svg+xml", "image/png"} {
		if r.outputs[i].Bundle.Data[mime] == nil {
			t.Errorf("output %d has no %s: %v", i, mime, r.outputs[i].Bundle.Data)
		}
	}
	if got := r.outputs[0].Bundle.Data["text/html"]; got != "<i>7</i>" {
		t.Errorf("DisplayHtmlf shows %q", got)
	}
	if err := DisplayImage(image.NewGray(image.Rect(0, 0, 0, 0))); err == nil {
		t.Error("an image without pixels was accepted")
	}
	src, err := EmbedImageAsPNGSrc(img)
	if err != nil || !strings.HasPrefix(src, "data:image/png;base64,iVBOR") {
		t.Errorf("EmbedImageAsPNGSrc = %q, %v", src, err)
	}
}

func TestRequestInput(t *testing.T) {
	if err := prompt.Ask("x", false); err != prompt.ErrNobody {
		t.Errorf("asking nobody gives %v", err)
	}
	var asked []any
	prompt.Install(func(text string, password bool) error {
		asked = append(asked, text, password)
		return nil
	})
	t.Cleanup(func() { prompt.Install(nil) })
	RequestInput("name: ", true)
	if !slices.Equal(asked, []any{"name: ", true}) {
		t.Errorf("asked %v", asked)
	}
}
