package display_test

import (
	"image"
	"strings"
	"testing"

	"forgekernel/display"
)

// Several values are shown as texts on a line, or as a page where one is more than text.
func TestJoin(t *testing.T) {
	texts := display.Join(display.Text("7"), display.Text("<nil>"))
	if len(texts.Data) != 1 || texts.Data["text/plain"] != "7 <nil>" {
		t.Errorf("texts: %v", texts.Data)
	}
	picture := display.ToBundle(image.NewGray(image.Rect(0, 0, 3, 2)))
	table := display.ToBundle([]struct{ A, B int }{{1, 2}})
	drawing := display.SVG(`<svg xmlns="http://www.w3.org/2000/svg"/>`)
	joined := display.Join(picture, display.Text("a < b"), table, drawing)
	page, _ := joined.Data["text/html"].(string)
	for _, part := range []string{"data:image/png;base64,", "a &lt; b</pre>", "<table", "data:image/svg+xml;base64,", `alt="PNG image, 3 x 2 pixels"`} {
		if !strings.Contains(page, part) {
			t.Errorf("the page lacks %q:\n%s", part, page)
		}
	}
	if text, _ := joined.Data["text/plain"].(string); !strings.HasPrefix(text, "PNG image, 3 x 2 pixels\na < b\n") || !strings.HasSuffix(text, "\nSVG image, 41 bytes") {
		t.Errorf("its text is %q", text)
	}
}
