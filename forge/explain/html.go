package explain

import (
	_ "embed"
	"encoding/base64"
	"fmt"
	"html"
	"strings"

	"forgekernel/display"
	"forgekernel/forge/analysis"
)

// The script makes values choosable; the sheet is how chosen ones look. A page
// that removes both keeps everything else.
//
//go:embed viewer.js
var script string

//go:embed viewer.css
var sheet string

// HTML is the view as a page of its own.
func (r *Report) HTML() string {
	return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>` + html.EscapeString(r.Program) + ` explained</title>
<style>` + darkPage + `</style></head>
<body style="margin:0;background-color:#f0f2f5">
<div style="padding:16px">
` + r.Fragment() + `</div>
</body></html>
`
}

// darkPage turns the page dark where the reader's system is: lightness is inverted and
// hues are kept, so that all colours, in pictures too, keep their meaning.
const darkPage = `@media screen and (prefers-color-scheme: dark) {
  :root { color-scheme: dark } body { background-color: #0d1117 !important }
  .forge-explain { filter: invert(0.91) hue-rotate(180deg) }
}`

// Fragment is the view as part of a page: it brings its own light ground, so
// that it reads well on any theme, and several may stand on one page.
func (r *Report) Fragment() string {
	p := newPalette()
	list := columnsOf(r)
	p.survey(list)
	v := view{Report: r, palette: p}
	v.b.WriteString(`<div class="forge-explain mathjax_ignore tex2jax_ignore" style="font-family:-apple-system,Segoe UI,Helvetica,Arial,sans-serif;font-size:14px;line-height:1.4;color:#1f2328;background-color:#ffffff;border:1px solid #d0d7de;border-radius:8px;padding:16px 18px">` + "\n")
	v.header()
	v.figures()
	v.heading("Passes", "each column is the program after a pass; colours are "+p.legend()+", + is new, − is about to go")
	columns := columns{b: &v.b, palette: p}
	columns.write(list, r)
	v.memory()
	v.b.WriteString(rowStart + "<div>")
	v.analysis()
	v.b.WriteString("</div><div>")
	v.kernels()
	v.tuning()
	v.b.WriteString("</div></div>\n")
	v.b.WriteString("</div>\n<style>" + sheet + "</style>\n<script>" + script + "</script>\n")
	return v.b.String()
}

// rowStart opens a row whose parts stand side by side where there is room.
const rowStart = `<div style="display:flex;flex-wrap:wrap;align-items:flex-start;column-gap:36px">`

// view writes the sections of the page.
type view struct {
	*Report
	b       strings.Builder
	palette *palette
}

func (v *view) printf(format string, args ...any) { fmt.Fprintf(&v.b, format, args...) }

func (v *view) heading(title, note string) {
	v.printf(`<div style="margin:18px 0 8px 0"><span style="font-weight:600;font-size:15px">%s</span> <span style="color:#57606a;font-size:12px">%s</span></div>`+"\n", title, html.EscapeString(note))
}

func (v *view) header() {
	v.printf(`<div><span style="font-size:20px;font-weight:600">%s</span> <span style="color:#57606a">from %s, on %s</span></div>`+"\n",
		html.EscapeString(v.Program), html.EscapeString(v.Source), html.EscapeString(v.Backend))
	var parts []string
	for _, in := range v.Inputs {
		parts = append(parts, "%"+in.Name+": "+in.spec())
	}
	var results []string
	for _, out := range v.Outputs {
		results = append(results, "%"+out.Name+": "+out.spec())
	}
	v.printf(`<div style="font-family:%s;font-size:12px;margin:4px 0 0 0">%s <span style="color:#57606a">→</span> %s</div>`+"\n",
		monospace, linked(strings.Join(parts, ", ")), linked(strings.Join(results, ", ")))
	v.b.WriteString(`<div class="fx-info"></div>` + "\n")
}

// figures shows what optimisation changed, one card for each figure.
func (v *view) figures() {
	v.b.WriteString(`<div style="display:flex;flex-wrap:wrap;gap:10px;margin:12px 0 0 0">`)
	for _, f := range v.Delta.Figures() {
		colour := "#57606a"
		switch {
		case f.After < f.Before:
			colour = "#1a7f37"
		case f.After > f.Before:
			colour = "#bc4c00"
		}
		v.printf(`<div style="border:1px solid #d0d7de;border-radius:6px;padding:8px 14px;background-color:#f6f8fa"><div style="color:#57606a;font-size:12px">%s</div><div><span style="font-size:18px;font-weight:600">%s</span> <span style="color:%s;font-size:12px">%s</span></div><div style="color:#57606a;font-size:12px">as written %s</div></div>`,
			f.Name, figure(f, f.After), colour, change(f.Change()), figure(f, f.Before))
	}
	v.b.WriteString("</div>\n")
}

func (v *view) memory() {
	p := v.Memory
	v.heading("Memory", "of intermediate values: slots from top to bottom, steps from left to right")
	v.printf(`<div style="font-size:13px;margin:0 0 6px 0"><b>%s</b> <span style="color:#57606a">· %s</span></div>`+"\n", html.EscapeString(p.Headline()), html.EscapeString(planText(p)))
	switch plot, err := p.Chart().SVG(); {
	case len(p.Slots) == 0:
		v.b.WriteString(`<div style="color:#57606a">No intermediate value needs memory.</div>` + "\n")
		return
	case err != nil:
		v.printf(`<div style="color:#57606a">%s</div>`+"\n", html.EscapeString(err.Error()))
	default:
		v.b.WriteString(rowStart + "<div>" + image(plot, "fx-plot", "values in memory slots over the steps of the schedule") + "</div>\n<div>")
		defer v.b.WriteString("</div></div>\n")
	}
	t := table{heads: []string{"value", ">bytes", "place", "steps", ""}}
	for _, x := range placed(p) {
		t.add(linked("%"+x.Name), display.FormatBytes(x.Bytes), where(x), steps(x), linked(note(x)))
	}
	v.b.WriteString(t.html("where every value stands"))
}

// image is an SVG drawing as an <img>, which pages show that remove inline SVG.
func image(svg, class, alt string) string {
	return fmt.Sprintf(`<img class="%s" alt="%s" style="max-width:100%%" src="data:image/svg+xml;base64,%s">`, class, html.EscapeString(alt), base64.StdEncoding.EncodeToString([]byte(svg)))
}

func (v *view) kernels() {
	v.heading("Kernels", "what "+v.Backend+" runs for each node")
	for _, note := range v.Notes {
		v.printf(`<div style="font-size:13px;margin:0 0 6px 0">%s</div>`+"\n", html.EscapeString(note))
	}
	t := table{heads: []string{"value", "kernel", "~why"}}
	for _, k := range v.Kernels {
		t.add(linked(k.Value), html.EscapeString(k.Kernel), linked(k.Reason))
	}
	v.b.WriteString(t.html(display.Count(len(t.rows), "node")))
}

// tuning is the record of the program's schedules.
func (v *view) tuning() {
	if v.TuningIgnored != "" {
		v.heading("Tuning", v.TuningIgnored)
	}
	if v.Tuning == nil {
		return
	}
	v.heading("Tuning", v.Tuning.Verdict())
	t := table{heads: []string{"kernel", "schedule", "", ">quickest (µs)", ">samples"}}
	for i := range v.Tuning.Kernels {
		k := &v.Tuning.Kernels[i]
		for j := range k.Candidates {
			c := &k.Candidates[j]
			words := string(c.Verdict)
			if c.Error != "" {
				words += ": " + c.Error
			}
			t.add(html.EscapeString(k.Shape), html.EscapeString(c.Schedule.String()), html.EscapeString(words), fmt.Sprintf("%.4g", c.Best()*1e6), fmt.Sprint(c.Count()))
		}
	}
	v.b.WriteString(t.html(display.Count(len(t.rows), "candidate")))
}

func (v *view) analysis() {
	a := v.Analysis
	v.heading("Analysis", "work without running; ● marks the critical path, the chain with the most FLOPs")
	v.printf(`<div style="font-size:13px;margin:0 0 6px 0">in all %s FLOPs, %s of traffic, %.3g FLOP/B; %s, %s; depth %d</div>`+"\n",
		flopText(a.Totals.FLOPs), display.FormatBytes(a.Totals.Bytes), a.Totals.Intensity(), display.Count(a.Totals.Kernels, "kernel"), display.Count(a.Totals.Views, "view"), a.Totals.Depth)
	top := table{heads: []string{"top", "kind", ">FLOPs", "share"}}
	for _, name := range a.Top {
		n, _ := a.Node(name)
		top.add(linked(name), html.EscapeString(kind(n)), flopText(n.FLOPs), bar(float64(n.FLOPs)/float64(max(a.Totals.FLOPs, 1))))
	}
	v.b.WriteString(top.open())
	v.b.WriteString(v.nodes(a))
}

func (v *view) nodes(a *analysis.Analysis) string {
	t := table{heads: []string{"", "value", "kind", "result", ">FLOPs", ">traffic", ">FLOP/B", ">depth"}}
	for _, n := range a.Nodes {
		mark := ""
		if n.Critical {
			mark = `<span style="color:#cf4a9c">●</span>`
		}
		t.add(mark, linked(n.Value), html.EscapeString(kind(n)), n.DType+shapeText(n.Shape), flopText(n.FLOPs), display.FormatBytes(n.Bytes), fmt.Sprintf("%.3g", n.Intensity()), fmt.Sprint(n.Depth))
	}
	return t.html("every node")
}

// bar draws a share.
func bar(share float64) string {
	return fmt.Sprintf(`<div style="display:inline-block;background-color:#218bff;border-radius:2px;height:9px;width:%.0fpx"></div> %.0f %%`, 160*share, 100*share)
}
