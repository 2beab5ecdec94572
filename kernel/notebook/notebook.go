// Package notebook reads and writes Jupyter notebooks: files of nbformat 4.0 to
// 4.5, written as 4.5.
//
// A file that is read and written again differs as little as it would through
// Jupyter itself: keys are sorted, the indent is one space, text is split into
// lines, and whatever the package does not know is carried along. The packages
// below this one execute notebooks (runner), print what they show meanwhile
// (terminal), compare it with what they showed before (verify), and turn them
// into pages (export).
package notebook

import "slices"

// Limits of a file that is read.
const (
	MaxBytes = 512 << 20 // bytes
	MaxCells = 100_000
	// MaxDepth bounds lists and objects within one another: written with a space
	// of indent for each level, a deep file grows by the square of its size.
	MaxDepth = 200
)

// Version of the format that is written.
const (
	major = 4
	minor = 5
)

// Notebook is a notebook in memory. Text is joined: no field holds a list of
// lines. Objects whose content the format leaves open are maps as encoding/json
// makes them, with numbers as json.Number.
type Notebook struct {
	Cells    []*Cell
	Metadata map[string]any

	extra map[string]any
}

// CellType is the kind of a cell.
type CellType string

// Kinds of cell.
const (
	Code     CellType = "code"
	Markdown CellType = "markdown"
	Raw      CellType = "raw"
)

// Cell is one cell.
type Cell struct {
	ID       string // unique in the notebook, 1 to 64 of A-Z a-z 0-9 - _
	Type     CellType
	Source   string
	Metadata map[string]any

	ExecutionCount int // of a code cell; 0 when it has not run
	Outputs        []*Output

	// Attachments of a Markdown or raw cell: MIME bundles by file name.
	Attachments map[string]any

	extra map[string]any
}

// OutputType is the kind of an output.
type OutputType string

// Kinds of output.
const (
	Stream        OutputType = "stream"
	DisplayData   OutputType = "display_data"
	ExecuteResult OutputType = "execute_result"
	Error         OutputType = "error"
)

// Output is one output of a code cell. Which fields count depends on Type.
type Output struct {
	Type OutputType

	Name string // Stream: stdout or stderr
	Text string // Stream

	// Data of DisplayData and ExecuteResult maps MIME types to content: text as
	// a string, binary content as base64 in a string, JSON types as a value.
	Data           map[string]any
	Metadata       map[string]any
	ExecutionCount int // ExecuteResult

	ErrorName  string   // Error
	ErrorValue string   // Error
	Traceback  []string // Error, with ANSI colours

	extra map[string]any
}

// Tags returns the tags of the cell, in their order.
func (c *Cell) Tags() []string {
	list, _ := c.Metadata["tags"].([]any)
	var tags []string
	for _, t := range list {
		if s, ok := t.(string); ok {
			tags = append(tags, s)
		}
	}
	return tags
}

// HasTag reports whether the cell has a tag.
func (c *Cell) HasTag(tag string) bool { return slices.Contains(c.Tags(), tag) }

// ClearOutputs makes a code cell one that has not run.
func (c *Cell) ClearOutputs() {
	c.ExecutionCount = 0
	c.Outputs = nil
	delete(c.Metadata, "execution")
}

// MIME returns the content of a MIME type as text, which it is for everything
// but JSON types.
func (o *Output) MIME(mime string) (string, bool) {
	s, ok := o.Data[mime].(string)
	return s, ok
}
