package explain

import (
	"fmt"
	"html"
	"strings"
)

// shownRows is the most rows of a table in the view; the text and JSON forms
// have them all.
const shownRows = 300

// table is a table of the view. Cells are HTML.
type table struct {
	heads []string // ">" before a name puts the column right, "~" lets its lines break
	rows  [][]string
}

func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

// html is the table behind a summary: open if it is short.
func (t *table) html(summary string) string {
	if len(t.rows) == 0 {
		return ""
	}
	open := ""
	if len(t.rows) <= 12 {
		open = " open"
	}
	return fmt.Sprintf(`<details%s style="margin:4px 0"><summary style="cursor:pointer;color:#57606a;font-size:12px">%s</summary>%s</details>`+"\n", open, html.EscapeString(summary), t.open())
}

// open is the table itself.
func (t *table) open() string {
	if len(t.rows) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString(`<div style="overflow:auto;max-height:420px"><table style="border-collapse:collapse;font-size:12px;background-color:#ffffff;color:#1f2328">` + "\n<tr>")
	for _, h := range t.heads {
		fmt.Fprintf(&b, `<th style="%s;font-weight:600;color:#57606a;background-color:#ffffff">%s</th>`, t.cell(h), html.EscapeString(strings.TrimLeft(h, ">~")))
	}
	b.WriteString("</tr>\n")
	for _, row := range t.rows[:min(len(t.rows), shownRows)] {
		b.WriteString(`<tr style="background-color:#ffffff">`)
		for i, cell := range row {
			fmt.Fprintf(&b, `<td style="%s">%s</td>`, t.cell(t.heads[i]), cell)
		}
		b.WriteString("</tr>\n")
	}
	b.WriteString("</table>")
	if more := len(t.rows) - shownRows; more > 0 {
		fmt.Fprintf(&b, `<div style="color:#8c959f;font-size:12px">… %d more</div>`, more)
	}
	b.WriteString("</div>")
	return b.String()
}

func (t *table) cell(head string) string {
	align := "left"
	if strings.HasPrefix(head, ">") {
		align = "right"
	}
	style := "text-align:" + align + ";padding:2px 12px 2px 0;border-bottom:1px solid #eaeef2;vertical-align:top"
	if strings.HasPrefix(head, "~") {
		return style + ";min-width:20em"
	}
	return style + ";white-space:nowrap"
}
