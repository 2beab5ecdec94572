//go:build !amd64

package vector

// Sets are those that this machine runs, the quickest first and [Generic] last.
func Sets() []*Set { return []*Set{&Generic} }
