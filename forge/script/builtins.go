package script

// builtin describes one function of the language.
type builtin struct{ name string }

var builtins = map[string]*builtin{}
