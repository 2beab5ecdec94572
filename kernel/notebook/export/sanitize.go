package export

import (
	"regexp"
	"sync"

	"github.com/microcosm-cc/bluemonday"
)

// policy keeps what JupyterLab keeps of untrusted HTML: structure, inline
// colours, embedded images; no scripts, style sheets, forms or frames.
var policy = sync.OnceValue(newPolicy)

func newPolicy() *bluemonday.Policy {
	p := bluemonday.UGCPolicy()
	p.AllowDataURIImages()
	p.AllowAttrs("class").Globally()
	p.AllowElements("progress", "meter", "kbd", "samp", "mark")
	p.AllowAttrs("value", "max", "min").OnElements("progress", "meter")
	p.AllowAttrs("type").Matching(regexp.MustCompile(`^checkbox$`)).OnElements("input") // of task lists
	p.AllowAttrs("checked", "disabled").OnElements("input")
	p.AllowStyles(
		"color", "background-color", "background",
		"font-family", "font-size", "font-style", "font-weight", "line-height",
		"text-align", "text-decoration", "vertical-align", "white-space",
		"padding", "padding-left", "padding-right", "padding-top", "padding-bottom",
		"margin", "margin-left", "margin-right", "margin-top", "margin-bottom",
		"border", "border-left", "border-bottom", "border-collapse", "border-radius",
		"display", "width", "max-width", "height", "max-height", "overflow", "overflow-x",
	).Globally()
	return p
}
