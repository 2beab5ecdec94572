package gocell

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"forgekernel/display"
)

// lines is a sink that keeps the texts of displays.
type lines struct {
	mu   sync.Mutex
	list []string
}

func (l *lines) Show(o display.Output) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	text, _ := o.Bundle.Data["text/plain"].(string)
	l.list = append(l.list, text)
	return nil
}

func (l *lines) Clear(bool) error { return nil }

// The sources that the binary carries are imported as those of modules are.
func TestImportShowsProgress(t *testing.T) {
	for _, tt := range []struct {
		name  string
		pause time.Duration
		path  string
		err   error
		want  []string
	}{
		{"quick", 300 * time.Millisecond, "go/format", nil, nil},
		{"slow", 2 * time.Second, "go/format", nil, []string{
			"Checking go/format and what it imports [########################] 3/3  100%  3.00/s",
			"Translating go/format and what it imports [------------------------] 0/3  0%  0/s",
			"Translating go/format and what it imports [########----------------] 1/3  33%",
			"Translating go/format and what it imports [########################] 3/3  done in 6.0 s",
		}},
		{"failing", 2 * time.Second, "go/format", errors.New("no such name"), []string{
			"Checking go/format and what it imports [########################] 3/3  100%  3.00/s",
			"Translating go/format and what it imports [------------------------] 0/3  0%  0/s",
			"Translating go/format and what it imports [########----------------] 1/3",
			"Translating go/format and what it imports [########----------------] 1/3  failed after 6.0 s: no such name",
		}},
		{"compiled", 2 * time.Second, "strings", nil, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			shown := &lines{}
			synctest.Test(t, func(t *testing.T) {
				m := &modules{}
				m.begin()
				if _, err := (importer{display.WithSink(t.Context(), shown), m}).Import(tt.path); err != nil {
					t.Fatal(err)
				}
				time.Sleep(tt.pause)
				m.translating()
				time.Sleep(tt.pause)
				m.translating()
				time.Sleep(tt.pause)
				m.end(tt.err)
			})
			for i, line := range shown.list {
				if i >= len(tt.want) || !strings.HasPrefix(line, tt.want[i]) {
					t.Errorf("line %d is %q", i, line)
				}
			}
			if len(shown.list) < len(tt.want) {
				t.Errorf("%d lines are shown: %q", len(shown.list), shown.list)
			}
		})
	}
}

// Completion and inspection import on nobody's behalf, and show nothing.
func TestImportBetweenCells(t *testing.T) {
	m := &modules{}
	m.begin()
	m.end(nil)
	if _, err := (importer{t.Context(), m}).Import("go/format"); err != nil || m.meter != nil {
		t.Errorf("%v, a meter %v", err, m.meter)
	}
}
