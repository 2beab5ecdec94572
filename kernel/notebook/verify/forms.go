package verify

import (
	"bytes"
	"encoding/base64"
	"encoding/xml"
	"errors"
	"fmt"
	"image"
	"io"
	"maps"
	"slices"
	"strings"

	"forgekernel/kernel/notebook"
)

// formatOf are the pictures that can be decoded, as package image calls them.
var formatOf = map[string]string{"image/png": "png", "image/jpeg": "jpeg", "image/gif": "gif"}

// checkForms holds what a cell stores to what a reader can be shown: pictures that decode,
// drawings that are SVG, and HTML that shows something.
func checkForms(cell *notebook.Cell) (diffs []Difference) {
	check := func(where string, data map[string]any) {
		for _, mime := range slices.Sorted(maps.Keys(data)) {
			if problem := damage(mime, data[mime]); problem != "" {
				diffs = append(diffs, Difference{Where: where + ", " + mime, Detail: problem})
			}
		}
	}
	for i, o := range cell.Outputs {
		check(fmt.Sprintf("output %d", i+1), o.Data)
	}
	for _, name := range slices.Sorted(maps.Keys(cell.Attachments)) {
		if data, ok := cell.Attachments[name].(map[string]any); ok {
			check("attachment "+name, data)
		}
	}
	return diffs
}

// damage says why a form cannot be shown; "" if it can, or nothing is known of its type.
func damage(mime string, content any) string {
	text, isText := content.(string)
	_, picture := formatOf[mime]
	switch {
	case !picture && mime != "image/svg+xml" && mime != "text/html":
		return ""
	case !isText:
		return "it is not text"
	case strings.TrimSpace(text) == "":
		return "it is empty"
	case picture:
		return damagedPicture(mime, text)
	case mime == "image/svg+xml":
		return damagedSVG(text)
	}
	return ""
}

func damagedPicture(mime, text string) string {
	raw, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(text), ""))
	if err != nil {
		return "it is not base64"
	}
	config, format, err := image.DecodeConfig(bytes.NewReader(raw))
	switch {
	case errors.Is(err, image.ErrFormat):
		return "it is not a picture that can be decoded"
	case err == nil && format != formatOf[mime]:
		return "it is a picture of the type image/" + format
	case err == nil && int64(config.Width)*int64(config.Height) > maxPixels:
		return "" // larger than what is decoded here
	case err == nil:
		_, _, err = image.Decode(bytes.NewReader(raw))
	}
	switch {
	case err == nil:
		return ""
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return "the picture ends too early"
	}
	return "the picture is damaged"
}

// damagedSVG says why a text is no drawing: it is XML with one element, called svg.
func damagedSVG(text string) string {
	dec := xml.NewDecoder(strings.NewReader(text))
	for depth, roots := 0, 0; ; {
		t, err := dec.Token()
		var syntax *xml.SyntaxError
		switch {
		case errors.Is(err, io.EOF) && roots == 1:
			return ""
		case errors.Is(err, io.EOF):
			return "it has no element svg"
		case errors.As(err, &syntax):
			return fmt.Sprintf("line %d is not XML", syntax.Line)
		case err != nil:
			return "it is not XML"
		}
		switch t := t.(type) {
		case xml.StartElement:
			if depth++; depth > 1 {
				continue
			}
			if roots++; roots > 1 || t.Name.Local != "svg" {
				return "it is not a single svg element"
			}
		case xml.EndElement:
			depth--
		}
	}
}
