package gocell

import (
	"strings"

	"forgekernel/kernel/gocell/eval"
)

// Completeness says whether source could run as it stands: "complete",
// "incomplete" with the indentation of the next line, or "invalid".
func (s *Session) Completeness(src string) (status, indent string) {
	list, errs := scan(src)
	for _, e := range errs {
		if strings.Contains(e.Msg, "not terminated") && (strings.Contains(e.Msg, "raw string") || strings.Contains(e.Msg, "comment")) {
			return "incomplete", ""
		}
	}
	if b := unmatched(list); b != nil {
		if b.unclosed {
			return "incomplete", strings.Repeat("\t", len(opened(list)))
		}
		return "invalid", ""
	}
	if len(errs) > 0 {
		return "invalid", ""
	}
	_, errs = newLibrary().parseCell(&eval.Source{Line: 1, Text: src})
	if len(errs) == 0 {
		return "complete", ""
	}
	end := len(strings.TrimRight(src, " \t\r\n"))
	for _, e := range errs {
		if e.Pos.Offset < end {
			return "invalid", ""
		}
	}
	return "incomplete", ""
}
