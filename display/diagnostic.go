package display

// Diagnostic is one problem in a piece of source, in the form every front end
// of the workbench reports: what failed, where, and what would work.
type Diagnostic struct {
	Source  string // name of the source: "cell 3", "mlp.fs"
	Line    int    // 1-based; 0 when the problem has no position
	Col     int    // 1-based, in code points
	EndCol  int    // exclusive; 0 means one code point wide
	Text    string // the source line itself, without its newline
	Message string // one sentence
	Hint    string // what to write instead; may be empty
	Notes   []string
}
