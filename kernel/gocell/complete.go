package gocell

// Complete lists completions at a byte offset of a cell's source.
func (s *Session) Complete(src string, offset int) Completion { return Completion{} }

// Inspect describes the name at a byte offset of a cell's source.
func (s *Session) Inspect(src string, offset, detail int) (Inspection, bool) {
	return Inspection{}, false
}

// Completeness says whether source could run as it stands: "complete",
// "incomplete" with the indentation of the next line, or "invalid".
func (s *Session) Completeness(src string) (status, indent string) { return "unknown", "" }
