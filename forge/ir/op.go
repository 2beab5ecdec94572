package ir

// Op is one operator: everything a stage may ask of it, as data. Package op
// registers them.
type Op struct {
	Name string
}
