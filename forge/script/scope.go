package script

// Scope gives the functions that a source may call besides its own. It is
// asked when a source is checked and again when a function is traced, so that
// a redefinition reaches the callers that exist.
type Scope interface {
	// Lookup returns the function of that name, or nil.
	Lookup(name string) *Func
	// Names lists what Lookup knows, for suggestions.
	Names() []string
}
