package export

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"maps"
	"slices"
	"strings"

	"forgekernel/kernel/notebook"
)

// ranked are the MIME types that a page can show, best first: JupyterLab's
// order without what needs its scripts.
var ranked = []string{
	"text/html", "text/markdown", "image/svg+xml", "image/png", "image/jpeg", "image/gif",
	"image/webp", "image/bmp", "text/latex", "text/plain", "application/json",
}

// output renders one output; an empty body means that there is nothing to show.
func (x *exporter) output(o *notebook.Output) (output, error) {
	switch o.Type {
	case notebook.Stream:
		class := "text"
		if o.Name == "stderr" {
			class = "stderr"
		}
		return output{Class: class, Body: pre(o.Text)}, nil
	case notebook.Error:
		return output{Class: "error", Body: failure(o)}, nil
	}
	out, err := x.bundle(o)
	if o.Type == notebook.ExecuteResult && o.ExecutionCount > 0 {
		out.Prompt = prompt("Out", o.ExecutionCount)
	}
	return out, err
}

// bundle renders the best form of a display.
func (x *exporter) bundle(o *notebook.Output) (output, error) {
	for _, mime := range ranked {
		content, ok := o.Data[mime]
		if !ok {
			continue
		}
		text, ok := content.(string)
		if !ok {
			text = indented(content)
		}
		return x.form(o, mime, text)
	}
	if len(o.Data) == 0 {
		return output{}, nil
	}
	types := strings.Join(slices.Sorted(maps.Keys(o.Data)), ", ")
	return output{Class: "note", Body: template.HTML(template.HTMLEscapeString("An output of type " + types + ", which this page cannot show."))}, nil
}

func indented(v any) string {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(b)
}

func (x *exporter) form(o *notebook.Output, mime, text string) (output, error) {
	switch mime {
	case "text/html":
		return output{Class: "html", Body: x.trust(text)}, nil
	case "text/markdown":
		body, _, err := x.markdown.render(text, nil)
		return output{Class: "markdown", Body: x.trust(body)}, err
	case "image/svg+xml":
		return output{Class: imageClass(o), Body: x.svg(o, text)}, nil
	case "text/latex", "text/plain", "application/json":
		return output{Class: "text", Body: pre(text)}, nil
	default:
		return output{Class: imageClass(o), Body: image(o, mime, strings.Join(strings.Fields(text), ""))}, nil
	}
}

// trust passes HTML on as it is or without what could do harm.
func (x *exporter) trust(markup string) template.HTML {
	if x.opts.Trusted {
		return template.HTML(markup)
	}
	return template.HTML(policy().Sanitize(markup))
}

// widePicture is from how many CSS pixels on a picture becomes too small to read when it
// shrinks to the width of a phone.
const widePicture = 480

// imageClass tells wide pictures by what their metadata say of any of their forms.
func imageClass(o *notebook.Output) string {
	for _, hints := range o.Metadata {
		if sizes, ok := hints.(map[string]any); ok {
			if n, ok := sizes["width"].(json.Number); ok {
				if w, err := n.Float64(); err == nil && w >= widePicture {
					return "image wide"
				}
			}
		}
	}
	return "image"
}

// svg is drawn in place when it is trusted, so that its text can be searched
// and its tooltips work, and as an image, in which no script runs, when not.
func (x *exporter) svg(o *notebook.Output, text string) template.HTML {
	if x.opts.Trusted {
		if i := strings.Index(text, "<svg"); i >= 0 {
			return template.HTML(text[i:])
		}
	}
	return image(o, "image/svg+xml", base64.StdEncoding.EncodeToString([]byte(text)))
}

// image embeds base64 content, at the size that the metadata asks for.
func image(o *notebook.Output, mime, content string) template.HTML {
	var b strings.Builder
	alt, _ := o.MIME("text/plain")
	alt, _, _ = strings.Cut(alt, "\n")
	fmt.Fprintf(&b, `<img alt="%s" src="data:%s;base64,%s"`,
		template.HTMLEscapeString(alt), mime, template.HTMLEscapeString(content))
	hints, _ := o.Metadata[mime].(map[string]any)
	for _, name := range []string{"width", "height"} {
		if n, ok := hints[name].(json.Number); ok {
			fmt.Fprintf(&b, ` %s="%s"`, name, template.HTMLEscapeString(n.String()))
		}
	}
	b.WriteString(">")
	return template.HTML(b.String())
}

// pre shows text as a terminal would.
func pre(text string) template.HTML {
	if text == "" {
		return ""
	}
	note := ""
	if len(text) > MaxText {
		note = fmt.Sprintf("\n… %d more bytes are in the notebook", len(text)-MaxText)
		text = strings.ToValidUTF8(text[:MaxText], "")
	}
	return template.HTML("<pre>" + terminal(strings.TrimSuffix(text, "\n")) + note + "</pre>")
}

// failure shows an error: the traceback, which is the kernel's own account of
// it, below the error's name where the traceback leaves that out.
func failure(o *notebook.Output) template.HTML {
	trace := strings.Join(o.Traceback, "\n")
	summary := o.ErrorName
	if trace == "" && o.ErrorValue != "" {
		summary += ": " + o.ErrorValue
	}
	if trace != "" && strings.Contains(plain(trace), summary) {
		return pre(trace)
	}
	return template.HTML(`<p class="summary">`+template.HTMLEscapeString(summary)+"</p>") + pre(trace)
}
