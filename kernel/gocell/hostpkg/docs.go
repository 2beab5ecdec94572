package hostpkg

import (
	"sync"

	"forgekernel/kernel/gocell/hostpkg/archive"
)

var docs struct {
	sync.Mutex
	texts map[string]map[string]string // by import path, then name
}

// Doc returns the declaration and documentation of an exported name as plain
// text, or of the package itself when name is empty. A method or field of type
// T is T.M; fields without a comment of their own have no entry. What is predeclared,
// such as append, is of [archive.Predeclared].
func Doc(path, name string) (text string, ok bool) {
	s, err := open()
	if err != nil {
		return "", false
	}
	path = canonical(path)
	if _, ok := s.packages[path]; !ok && path != archive.Predeclared {
		return "", false
	}
	docs.Lock()
	defer docs.Unlock()
	if docs.texts[path] == nil {
		texts := map[string]string{}
		if err := s.readJSON(archive.DocFile(path), &texts); err != nil {
			return "", false
		}
		if docs.texts == nil {
			docs.texts = map[string]map[string]string{}
		}
		docs.texts[path] = texts
	}
	text, ok = docs.texts[path][name]
	return text, ok
}
