package verify

import (
	"bytes"
	"encoding/base64"
	"image"
	"image/color/palette"
	"image/gif"
	"image/png"
	"strings"
	"testing"

	"forgekernel/kernel/notebook"
)

// encoded is a picture of 20 by 20 pixels, in base64.
func encoded(t testing.TB, format string) string {
	t.Helper()
	img := image.NewPaletted(image.Rect(0, 0, 20, 20), palette.Plan9)
	for i := range img.Pix {
		img.Pix[i] = byte(i * 7)
	}
	var b bytes.Buffer
	err := png.Encode(&b, img)
	if format == "gif" {
		b.Reset()
		err = gif.Encode(&b, img, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	return base64.StdEncoding.EncodeToString(b.Bytes())
}

func TestStoredForms(t *testing.T) {
	pngText, gifText := encoded(t, "png"), encoded(t, "gif")
	raw, _ := base64.StdEncoding.DecodeString(pngText)
	damaged := bytes.Clone(raw)
	damaged[len(damaged)-20] ^= 0xff // within the pixels
	for _, c := range []struct {
		mime    string
		content any
		want    string
	}{
		{"image/png", pngText, ""},
		{"image/png", pngText[:40] + "\n" + pngText[40:] + "\n", ""},
		{"image/gif", gifText, ""},
		{"image/png", "", "it is empty"},
		{"image/png", "not base64!", "it is not base64"},
		{"image/png", base64.StdEncoding.EncodeToString([]byte("a text")), "it is not a picture that can be decoded"},
		{"image/png", base64.StdEncoding.EncodeToString(raw[:len(raw)/2]), "the picture ends too early"},
		{"image/png", base64.StdEncoding.EncodeToString(damaged), "the picture is damaged"},
		{"image/png", gifText, "it is a picture of the type image/gif"},
		{"image/png", 7.0, "it is not text"},
		{"image/svg+xml", `<?xml version="1.0"?><!-- a --><svg xmlns="http://www.w3.org/2000/svg"><g/></svg>` + "\n", ""},
		{"image/svg+xml", " ", "it is empty"},
		{"image/svg+xml", "<svg>\n<g></svg>", "line 2 is not XML"},
		{"image/svg+xml", "<svg><g/>", "line 1 is not XML"},
		{"image/svg+xml", "<html></html>", "it is not a single svg element"},
		{"image/svg+xml", "<svg/><svg/>", "it is not a single svg element"},
		{"image/svg+xml", "a text", "it has no element svg"},
		{"text/html", "<p>x", ""},
		{"text/html", " \n", "it is empty"},
		{"text/plain", "", ""},
		{"application/x-own", 7.0, ""},
	} {
		if got := damage(c.mime, c.content); got != c.want {
			t.Errorf("%s %.40v: %q, want %q", c.mime, c.content, got, c.want)
		}
	}

	nb := &notebook.Notebook{Cells: []*notebook.Cell{
		{Type: notebook.Markdown, Source: "![a](attachment:a.png)", Attachments: map[string]any{"a.png": map[string]any{"image/png": "x"}}},
		{Type: notebook.Code, Source: "1", ExecutionCount: 1, Outputs: []*notebook.Output{
			{Type: notebook.DisplayData, Data: map[string]any{"image/png": pngText, "text/plain": "a"}},
			{Type: notebook.DisplayData, Data: map[string]any{"image/svg+xml": "<svg>", "text/html": "", "text/plain": "b"}},
		}},
	}}
	r, err := Stored(nb, nil)
	if err != nil || r.Verified || len(r.Cells) != 2 {
		t.Fatalf("%+v, %v", r, err)
	}
	var places []string
	for _, c := range r.Cells {
		for _, d := range c.Differences {
			places = append(places, d.Where+": "+d.Detail)
		}
	}
	const want = "attachment a.png, image/png: it is not base64; output 2, image/svg+xml: line 1 is not XML; output 2, text/html: it is empty"
	if got := strings.Join(places, "; "); got != want {
		t.Errorf("found %s\nwant %s", got, want)
	}
}

func FuzzDamage(f *testing.F) {
	f.Add("image/svg+xml", "<svg><g></svg>")
	f.Add("image/png", encoded(f, "png"))
	f.Add("image/gif", encoded(f, "gif"))
	f.Fuzz(func(_ *testing.T, mime, content string) { damage(mime, content) })
}
