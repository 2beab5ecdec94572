package explain

import (
	"encoding/base64"
	"fmt"
	"html"
	"strings"
)

// Measures of the plot of memory, in pixels.
const (
	plotWidth  = 980.0
	plotLeft   = 96.0 // for the names of slots
	plotHeight = 260.0
	slotGap    = 6.0
	liveHeight = 56.0
	charWidth  = 6.6 // of the label's type
)

// memoryPlot draws what stands where in memory, and when: one band for each
// slot, as high as it is large, and one box for each value, from the step that
// makes it to the last that reads it. Below is the number of bytes live at each
// step, with the planned bytes as a line above it.
func (r *Report) memoryPlot(hueOf func(key string) hue) string {
	m := &r.Memory
	if len(m.Slots) == 0 {
		return ""
	}
	p := plotter{m: m, step: (plotWidth - plotLeft - 8) / float64(max(len(m.Steps), 1)), hueOf: hueOf}
	p.bands()
	top := p.height + 18
	total := top + liveHeight + 24
	fmt.Fprintf(&p.b, `<svg xmlns="http://www.w3.org/2000/svg" width="%.0f" height="%.0f" viewBox="0 0 %.0f %.0f" font-family="Menlo,Consolas,monospace" font-size="11">`+"\n", plotWidth, total, plotWidth, total)
	fmt.Fprintf(&p.b, `<rect width="%.0f" height="%.0f" fill="#ffffff"/>`+"\n", plotWidth, total)
	p.slots()
	p.boxes()
	p.live(top)
	p.axis(top + liveHeight + 16)
	p.b.WriteString("</svg>")
	return p.b.String()
}

type plotter struct {
	b      strings.Builder
	m      *Memory
	step   float64 // width of a step
	hueOf  func(key string) hue
	top    []float64 // of each slot's band
	scale  float64   // pixels per byte
	height float64   // of all bands
}

// bands places the slots under one another.
func (p *plotter) bands() {
	total := int64(0)
	for _, s := range p.m.Slots {
		total += s.Bytes
	}
	p.scale = plotHeight / float64(max(total, 1))
	y := 8.0
	for _, s := range p.m.Slots {
		p.top = append(p.top, y)
		y += max(float64(s.Bytes)*p.scale, 3) + slotGap
	}
	p.height = y
}

func (p *plotter) x(step int) float64 { return plotLeft + float64(step)*p.step }

func (p *plotter) slots() {
	for i, s := range p.m.Slots {
		h := max(float64(s.Bytes)*p.scale, 3)
		fmt.Fprintf(&p.b, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="#f6f8fa" stroke="#d0d7de"/>`+"\n", plotLeft, p.top[i], plotWidth-plotLeft-8, h)
		if h >= 10 || len(p.m.Slots) <= 12 {
			fmt.Fprintf(&p.b, `<text x="%.1f" y="%.1f" text-anchor="end" fill="#57606a">%d · %s</text>`+"\n", plotLeft-6, p.top[i]+min(h/2+4, h+8), i, Bytes(s.Bytes))
		}
	}
}

// boxes draws the values that own memory in slots; views have none.
func (p *plotter) boxes() {
	for _, v := range p.m.Values {
		if v.Place != placeSlot || v.ViewOf != "" || v.Slot < 0 {
			continue
		}
		hue := p.hueOf(strings.TrimPrefix(v.Value, "%"))
		x, w := p.x(v.First)+0.5, max(float64(v.Last-v.First+1)*p.step-1, 0.8)
		y, h := p.top[v.Slot]+float64(v.Offset)*p.scale+0.5, max(float64(v.Bytes)*p.scale-1, 2)
		name := html.EscapeString(strings.TrimPrefix(v.Value, "%"))
		fmt.Fprintf(&p.b, `<g data-v="%s"><title>%s: %s, steps %d to %d%s</title><rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" rx="2" fill="%s" stroke="%s"/>`,
			name, html.EscapeString(v.Value), Bytes(v.Bytes), v.First, v.Last, html.EscapeString(comma(v.note())), x, y, w, h, hue.ground, hue.edge)
		if label := v.Value; h >= 13 && w >= charWidth*float64(len([]rune(label)))+6 {
			fmt.Fprintf(&p.b, `<text x="%.1f" y="%.1f" fill="#1f2328">%s</text>`, x+4, y+h/2+4, html.EscapeString(label))
		}
		p.b.WriteString("</g>\n")
	}
}

func comma(s string) string {
	if s == "" {
		return ""
	}
	return ", " + s
}

// live draws the bytes in use at each step.
func (p *plotter) live(top float64) {
	high := max(p.m.Planned, p.m.Lower, 1)
	y := func(n int64) float64 { return top + liveHeight*(1-float64(n)/float64(high)) }
	var area strings.Builder
	fmt.Fprintf(&area, "M%.1f %.1f", p.x(0), y(0))
	for i, s := range p.m.Steps {
		fmt.Fprintf(&area, "L%.1f %.1fL%.1f %.1f", p.x(i), y(s.Live), p.x(i+1), y(s.Live))
	}
	fmt.Fprintf(&area, "L%.1f %.1fZ", p.x(len(p.m.Steps)), y(0))
	fmt.Fprintf(&p.b, `<path d="%s" fill="#ddf0ff" stroke="#218bff"/>`+"\n", area.String())
	fmt.Fprintf(&p.b, `<text x="%.1f" y="%.1f" text-anchor="end" fill="#57606a">live bytes</text>`+"\n", plotLeft-6, top+liveHeight/2+4)
	fmt.Fprintf(&p.b, `<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="#cf4a9c" stroke-dasharray="4 3"><title>planned %s</title></line>`+"\n",
		plotLeft, y(p.m.Planned), plotWidth-8, y(p.m.Planned), Bytes(p.m.Planned))
}

// axis numbers the steps, as many as there is room for.
func (p *plotter) axis(y float64) {
	every := 1
	for float64(every)*p.step < 34 {
		every *= 2
	}
	for i := 0; i < len(p.m.Steps); i += every {
		fmt.Fprintf(&p.b, `<text x="%.1f" y="%.1f" text-anchor="middle" fill="#57606a">%d</text>`+"\n", p.x(i)+p.step/2, y, i)
	}
	fmt.Fprintf(&p.b, `<text x="%.1f" y="%.1f" text-anchor="end" fill="#57606a">step</text>`+"\n", plotLeft-6, y)
}

// image is an SVG drawing as an <img>, which pages show that remove inline SVG.
func image(svg, class, alt string) string {
	return fmt.Sprintf(`<img class="%s" alt="%s" style="max-width:100%%" src="data:image/svg+xml;base64,%s">`, class, html.EscapeString(alt), base64.StdEncoding.EncodeToString([]byte(svg)))
}
