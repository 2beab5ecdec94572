// Package gonbui offers the functions of gonb's package of the same name, on
// the display package, so that notebooks written for gonb run unchanged. Go
// cells import it as github.com/janpfeifer/gonb/gonbui.
package gonbui
