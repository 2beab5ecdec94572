package model

import (
	"fmt"
	"strings"
)

// OpenRef opens what [Model.Ref] of another process named.
func OpenRef(ref string) (*Model, error) {
	if s, ok := strings.CutPrefix(ref, seededRef); ok {
		return openSeeded(s)
	}
	return nil, fmt.Errorf("%q is no reference of a seeded model", ref)
}
