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

// resolve finds the function that a call in the body of caller means. A
// function that is current in the scope sees the scope first; any other, one
// that was replaced or never added, sees the file that it came from.
func resolve(scope Scope, caller *Func, name string) *Func {
	if scope == nil {
		return caller.file.find(name)
	}
	inScope := scope.Lookup(name)
	if inScope != nil && scope.Lookup(caller.Name.Name) == caller {
		return inScope
	}
	if own := caller.file.find(name); own != nil {
		return own
	}
	return inScope
}
