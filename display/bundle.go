// Package display turns values into what a person sees: MIME bundles, drawn
// graphs, tables, source listings, error boxes and progress lines. It knows
// nothing about compilers or kernels; both hand it plain descriptions.
//
// A value that can be looked at implements [Displayer]. [Show] sends a bundle
// to the [Sink] of the context, or to the process-wide sink that a notebook
// session installs; in a plain program the sink prints text.
//
// Every form in a bundle has to survive where it lands: HTML carries inline
// styles only, because front ends strip style sheets from outputs that they do
// not trust; SVG carries presentation attributes only; nothing needs a script
// or the network.
package display

import (
	"encoding/base64"
	"maps"
	"strings"
)

// Bundle is one display in several forms. A front end picks the richest form
// that it can draw, so every bundle carries text/plain.
type Bundle struct {
	// Data maps a MIME type to its content: a string for text types, a []byte
	// for binary ones (base64 on the wire), any JSON value for +json types.
	Data map[string]any
	// Metadata maps a MIME type to hints for it, such as the width and height
	// in CSS pixels of an image drawn at twice the resolution.
	Metadata map[string]any
}

// Displayer is a value that knows how to show itself.
type Displayer interface{ Display() Bundle }

// Display returns the bundle itself, so that a bundle can be shown.
func (b Bundle) Display() Bundle { return b }

// Text is the bundle of a plain string.
func Text(s string) Bundle { return Bundle{Data: map[string]any{mimeText: s}} }

// MIME types of the forms that this package makes.
const (
	mimeText     = "text/plain"
	mimeHTML     = "text/html"
	mimeMarkdown = "text/markdown"
	mimeLaTeX    = "text/latex"
	mimeMermaid  = "text/vnd.mermaid"
	mimeSVG      = "image/svg+xml"
	mimePNG      = "image/png"
	mimeJSON     = "application/json"
)

// Wire returns the data and metadata of a Jupyter message: binary content
// becomes base64, text kept as bytes becomes a string. Neither map is nil or
// shared with b.
func (b Bundle) Wire() (data, metadata map[string]any) {
	data = make(map[string]any, len(b.Data))
	for mime, content := range b.Data {
		if raw, ok := content.([]byte); ok {
			content = wireBytes(mime, raw)
		}
		data[mime] = content
	}
	metadata = make(map[string]any, len(b.Metadata))
	maps.Copy(metadata, b.Metadata)
	return data, metadata
}

func wireBytes(mime string, raw []byte) string {
	if strings.HasPrefix(mime, "text/") || strings.HasSuffix(mime, "+xml") {
		return strings.ToValidUTF8(string(raw), "\uFFFD")
	}
	return base64.StdEncoding.EncodeToString(raw)
}
