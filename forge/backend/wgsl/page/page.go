// Package page shows a plan in a notebook, where the browser of whoever looks at it runs
// it on its own GPU.
//
// A [Card] is HTML with a script and all that the script needs: the plan, what the host
// fills, and what the kernel computed. The script compares its results with those, and
// writes the differences and times into the card. Without it, where a notebook is not
// trusted or a page shows none, the card says so, and has the values of the kernel and
// the dispatches of the plan: this is also what a saved notebook keeps, since what a
// script writes is not saved.
//
// Front ends have no channel from a script in an output to the kernel that all of them
// share: JupyterLab hides its own. So bytes stand in the script, as base64 in parts of
// 768 KiB, and a plan with more than [MaxBytes] of them is refused.
package page

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"regexp"
	"strings"
	"sync"

	"forgekernel/display"
	"forgekernel/forge/backend/wgsl"
	"forgekernel/forge/backend/wgsl/webgpu"
	"forgekernel/forge/ir"
	"forgekernel/forge/tensor"
)

// MaxBytes is the limit of what a card holds: inputs, constants and results.
const MaxBytes = 32 << 20

//go:embed page.js
var script string

// code is what a script of a card begins with: comments stay here.
var code = sync.OnceValue(func() string {
	return regexp.MustCompile(`(?m)^ *//.*\n`).ReplaceAllString(webgpu.Runner+script, "")
})

// Card is a plan with its data.
type Card struct {
	Plan    *wgsl.Plan
	Memory  wgsl.Memory // what the host fills
	Results []Result    // of the kernel
}

// Result is what an output of the plan has to be.
type Result struct {
	Name   string
	Buffer int // of the plan
	Tensor *tensor.Tensor
	Bytes  []byte // the tensor as it stands in the buffer
}

// Tolerances are the largest differences of results that count as equal, relative to the
// largest element: the order of a sum differs between devices, and so its rounding.
// Integers have none.
var tolerances = map[tensor.DType]float64{tensor.F32: 1e-4, tensor.F16: 1e-2, tensor.BF16: 5e-2}

// Check refuses a card that is too large.
func (c *Card) Check() error {
	n := 0
	for i, b := range c.Plan.Buffers {
		if b.Kind.Filled() {
			n += len(c.Memory[i])
		}
	}
	for _, r := range c.Results {
		n += len(r.Bytes)
	}
	if n > MaxBytes {
		has, most := display.FormatBytes(int64(n)), display.FormatBytes(MaxBytes)
		if has == most { // the difference is what counts
			has, most = fmt.Sprintf("%d bytes", n), fmt.Sprint(MaxBytes)
		}
		return fmt.Errorf("%s has %s of inputs, constants and results; a card holds %s, since all of it stands in the notebook", c.Plan.Name, has, most)
	}
	return nil
}

// Display is the card, and in plain text what it has without its script.
func (c *Card) Display() display.Bundle {
	return display.Bundle{Data: map[string]any{"text/html": c.html(), "text/plain": c.text()}}
}

// unrun is what a card says before its script does.
const unrun = "A program for the GPU of the browser that shows this. It has not run: the notebook is not trusted, or this page shows no scripts. " +
	"In JupyterLab, “Trust Notebook” in the command palette runs it."

func (c *Card) html() string {
	name := c.name()
	var b strings.Builder
	fmt.Fprintf(&b, `<div data-forge-webgpu="%s" style="border:1px solid #8c959f66;border-left:4px solid #8c959f;border-radius:4px;padding:6px 12px;margin:4px 0;max-width:60em">`, name)
	fmt.Fprintf(&b, `<div><b>%s</b> on the GPU of this browser</div>`, html.EscapeString(c.Plan.Name))
	fmt.Fprintf(&b, "\n"+`<div data-part="status" style="margin:4px 0">%s</div>`, unrun)
	fmt.Fprintf(&b, "\n"+`<div data-part="results">%s</div>`, markup(c.results()))
	fmt.Fprintf(&b, "<details><summary>%s</summary>%s</details>\n", html.EscapeString(c.summary()), markup(c.Dispatches()))
	fmt.Fprintf(&b, "<script>(() => {\n\"use strict\";\n%sshow(document.currentScript, %q, %s);\n})();</script>\n</div>\n", code(), name, c.data())
	return b.String()
}

func markup(t display.Table) string { return t.Display().Data["text/html"].(string) }

func (c *Card) text() string {
	return c.Plan.Name + ", for the GPU of a browser that shows this notebook\n" + c.results().Text() + "\n" + c.summary() + "\n" + c.Dispatches().Text()
}

// results is the table of results, whose last two columns the script fills: with the
// largest difference, also relative to the largest element.
func (c *Card) results() display.Table {
	t := display.Table{Columns: []display.Column{
		{Name: "result"}, {Name: "type"}, {Name: "values of the kernel"}, {Name: "largest difference", Align: display.AlignRight},
		{Name: "relative difference", Align: display.AlignRight},
	}}
	for _, r := range c.Results {
		t.Rows = append(t.Rows, []any{r.Name, ir.SpecOf(r.Tensor).String(), values(r.Tensor), "not run", "not run"})
	}
	return t
}

// shown is how many values a row has.
const shown = 4

func values(t *tensor.Tensor) string {
	var parts []string
	for i := range min(shown, t.Len()) {
		parts = append(parts, fmt.Sprintf("%.4g", t.Elem(i)))
	}
	if t.Len() > shown {
		parts = append(parts, "…")
	}
	return strings.Join(parts, ", ")
}

func (c *Card) summary() string {
	bytes := int64(0)
	for _, b := range c.Plan.Buffers {
		bytes += b.Bytes
	}
	return fmt.Sprintf("Dispatches: %d, of %s; %s in %s", len(c.Plan.Dispatches), display.Count(len(c.Plan.Modules), "shader"),
		display.FormatBytes(bytes), display.Count(len(c.Plan.Buffers), "buffer"))
}

// maxDispatches is how many a card lists.
const maxDispatches = 100

// Dispatches lists what the device is told, in order.
func (c *Card) Dispatches() display.Table {
	t := display.Table{Columns: []display.Column{{Name: "node"}, {Name: "shader"}, {Name: "workgroups"}, {Name: "of"}, {Name: "why"}}}
	for i, d := range c.Plan.Dispatches {
		if i == maxDispatches {
			t.Rows = append(t.Rows, []any{fmt.Sprintf("%d more", len(c.Plan.Dispatches)-i)})
			break
		}
		t.Rows = append(t.Rows, []any{d.Node, c.Plan.Modules[d.Module].Name, wgsl.Sizes(d.Groups), wgsl.Sizes(d.Workgroup), d.Reason})
	}
	return t
}

// partBytes is the length of a part of base64, a multiple of 3.
const partBytes = 768 << 10

// filled and wanted are what the script takes for a buffer.
type filled struct {
	Buffer int      `json:"buffer"`
	Parts  []string `json:"parts"`
}

type wanted struct {
	filled
	Count     int     `json:"count"`
	Tolerance float64 `json:"tolerance"`
}

func parts(data []byte) (list []string) {
	for len(data) > 0 {
		n := min(len(data), partBytes)
		list = append(list, base64.StdEncoding.EncodeToString(data[:n]))
		data = data[n:]
	}
	return list
}

// data is what the script works on. JSON of Go holds no "<", which could end a script.
func (c *Card) data() []byte {
	var d struct {
		Plan *wgsl.Plan `json:"plan"`
		Fill []filled   `json:"fill"`
		Want []wanted   `json:"want"`
	}
	d.Plan, d.Fill, d.Want = c.Plan, []filled{}, []wanted{} // null is no list to a script
	for i, b := range c.Plan.Buffers {
		if b.Kind.Filled() && b.Kind != wgsl.Fault {
			d.Fill = append(d.Fill, filled{i, parts(c.Memory[i])})
		}
	}
	for _, r := range c.Results {
		d.Want = append(d.Want, wanted{filled{r.Buffer, parts(r.Bytes)}, r.Tensor.Len(), tolerances[r.Tensor.DType()]})
	}
	text, err := json.Marshal(d)
	if err != nil {
		panic(err) // it is numbers and strings
	}
	return text
}

// name is the same for equal cards, so that a notebook that runs again shows the same.
func (c *Card) name() string {
	sum := sha256.Sum256(c.data())
	return hex.EncodeToString(sum[:8])
}
