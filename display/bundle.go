// Package display turns values into what a person sees: MIME bundles, drawn
// graphs, tables, source listings, error boxes and progress lines. It knows
// nothing about compilers or kernels; both hand it plain descriptions.
//
// A value that can be looked at implements [Displayer]. [Show] sends a bundle
// to the [Sink] of the context, or to the process-wide sink that a notebook
// session installs; in a plain program the sink prints text.
package display

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

// Text is the bundle of a plain string.
func Text(s string) Bundle { return Bundle{Data: map[string]any{"text/plain": s}} }
