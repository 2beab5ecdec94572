package capture

import (
	"fmt"
	"html"
	"strings"

	"forgekernel/display"
)

// HTML is the report as one page with its figures, which needs nothing else.
func (r *Report) HTML() (string, error) {
	figures, err := r.Figures()
	if err != nil {
		return "", err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Capture %s</title>\n<style>%s</style></head><body>\n<h1>Capture %s</h1>\n",
		html.EscapeString(r.capture.ID), pageStyle, html.EscapeString(r.capture.ID))
	write := func(t display.Table) {
		text, _ := display.ToBundle(t).Data["text/html"].(string)
		b.WriteString(text)
	}
	for i := range r.capture.Workloads {
		w := &r.capture.Workloads[i]
		write(w.times(r.capture.Settings.Blocks))
		fmt.Fprintf(&b, "<p>%s</p>\n", html.EscapeString(w.origin()))
		for _, f := range figures {
			if f.workload == i {
				b.WriteString(f.SVG + "\n")
			}
		}
	}
	for _, f := range figures {
		if f.workload < 0 {
			b.WriteString(f.SVG + "\n")
		}
	}
	for i := range r.capture.Workloads {
		write(r.capture.Workloads[i].gates())
	}
	write(r.memory())
	write(r.environment())
	write(r.libraries())
	b.WriteString("</body></html>\n")
	return b.String(), nil
}

const pageStyle = `body{font:15px/1.5 system-ui,sans-serif;max-width:75rem;margin:2rem auto;padding:0 1rem;color:#1f2328;background:#fff}
table{border-collapse:collapse;margin:1rem 0;font-size:13px}caption{text-align:left;font-size:18px;font-weight:600;padding:.3rem 0}
td[style*=right]{white-space:nowrap}td,th{padding:.2rem .7rem;border-bottom:1px solid #d0d7de}svg{max-width:100%;height:auto;margin:.5rem 0}
@media(prefers-color-scheme:dark){:root{color-scheme:dark}body{color:#e6edf3;background:#0d1117}td,th{border-color:#30363d}}`

// Display shows what a person who measured something looks for first: times, their
// distribution, where they stand under the limits of the machine, and the memory
// plans. What they were measured on unfolds below. The capture itself is a form of the
// display, so that a notebook that shows one can be verified.
func (r *Report) Display() display.Bundle {
	figures, err := r.Figures()
	if err != nil {
		return display.ToBundle(err)
	}
	var b strings.Builder
	table := func(t display.Table) {
		text, _ := display.ToBundle(t).Data["text/html"].(string)
		b.WriteString(text)
	}
	for i := range r.capture.Workloads {
		table(r.capture.Workloads[i].times(r.capture.Settings.Blocks))
		for _, f := range figures {
			if f.workload == i || f.workload < 0 && i == len(r.capture.Workloads)-1 {
				b.WriteString(`<div style="margin:8px 0">` + f.HTML + "</div>\n")
			}
		}
	}
	b.WriteString(`<details style="margin:4px 0"><summary style="cursor:pointer;font-size:12px">where and how this was measured</summary>`)
	table(r.environment())
	for i := range r.capture.Workloads {
		table(r.capture.Workloads[i].gates())
	}
	table(r.memory())
	b.WriteString("</details>")
	return carry(display.Bundle{Data: map[string]any{"text/html": b.String(), "text/plain": r.Text()}}, View{}, r.capture)
}

// Capture is what the report shows. It must not be changed.
func (r *Report) Capture() *Capture { return r.capture }

// Compare compares two candidates in every workload; each is written "BACKEND",
// "BACKEND:VARIANT" or "BACKEND:VARIANT:THREADS".
func (r *Report) Compare(old, new string) (*Comparison, error) {
	a, err := ParseSide(old)
	if err != nil {
		return nil, err
	}
	b, err := ParseSide(new)
	if err != nil {
		return nil, err
	}
	return Sides(r.capture, a, b)
}
