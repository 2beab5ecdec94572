// Package export turns a notebook into a page: one HTML file without scripts,
// that needs nothing from the network and prints well.
package export

import (
	"io"

	"forgekernel/kernel/notebook"
)

// Options say how.
type Options struct {
	Title string // default: the first heading, else "Notebook"
	// Trusted leaves HTML and SVG of the notebook as they are. Otherwise HTML is
	// sanitised and SVG shown as an image, which cannot run scripts.
	Trusted bool
}

// HTML writes nb as a page.
func HTML(w io.Writer, nb *notebook.Notebook, opts Options) error { return nil }
