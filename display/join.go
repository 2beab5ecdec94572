package display

import (
	"encoding/base64"
	"fmt"
	"html"
	"strings"

	"forgekernel/display/internal/cells"
)

// Join shows several values as one output: as their texts side by side, or below each
// other in an HTML page where one of them has a picture or a page.
func Join(list ...Bundle) Bundle {
	var texts, parts []string
	pages := false
	for _, b := range list {
		text, part := b.text(), b.page()
		if part == "" {
			part = `<pre style="font-family:` + monospace + `;margin:0">` + html.EscapeString(text) + "</pre>"
		} else {
			pages = true
		}
		texts, parts = append(texts, text), append(parts, `<div style="margin:0 0 8px">`+part+"</div>")
	}
	if !pages {
		return Text(strings.Join(texts, " "))
	}
	return Bundle{Data: map[string]any{mimeHTML: strings.Join(parts, "\n"), mimeText: strings.Join(texts, "\n")}}
}

// page is the bundle as a part of an HTML page, "" when only its text can be one.
func (b Bundle) page() string {
	if page := b.form(mimeHTML); page != "" {
		return page
	}
	if svg := b.form(mimeSVG); svg != "" {
		return Image(svg, b.text())
	}
	raw, ok := b.Data[mimePNG].([]byte)
	if !ok {
		return ""
	}
	size := ""
	if hints, ok := b.Metadata[mimePNG].(map[string]any); ok && hints["width"] != nil {
		size = fmt.Sprintf(` width="%v"`, hints["width"])
	}
	return fmt.Sprintf(`<img alt="%s"%s style="max-width:100%%" src="data:image/png;base64,%s">`,
		html.EscapeString(cells.OneLine(b.text())), size, base64.StdEncoding.EncodeToString(raw))
}

// form is one that is text, "" when there is none.
func (b Bundle) form(mime string) string {
	switch content := b.Data[mime].(type) {
	case string:
		return content
	case []byte:
		return string(content)
	}
	return ""
}
