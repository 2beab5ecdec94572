package bundle

import (
	_ "embed"
	"encoding/json"
	"strings"
)

//go:embed bootstrap.py
var bootstrap string

// Place is where a bundle meets its host.
type Place struct {
	Input  string `json:"input"`  // a folder; the bundle is somewhere below
	Output string `json:"output"` // the folder that the host gives back
	Pack   string `json:"pack"`   // an archive to make of the output; empty for none
	// Exit tells whether the script is a process of its own, whose status the host
	// shows. In a notebook's kernel it must not end that.
	Exit bool `json:"exit"`
}

// Script is the bootstrap script of a job at a place.
func (m *Manifest) Script(at Place) ([]byte, error) {
	settings, err := json.Marshal(struct {
		Job string `json:"job"`
		Place
	}{m.id, at})
	if err != nil {
		return nil, err
	}
	// A JSON string is a string of Python as well.
	literal, err := json.Marshal(string(settings))
	if err != nil {
		return nil, err
	}
	return []byte(strings.Replace(bootstrap, `"@SETTINGS@"`, string(literal), 1)), nil
}
