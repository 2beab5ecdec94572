package store

import (
	"database/sql"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"forgekernel/forge/backend/interp"
	"forgekernel/forge/capture"
	"forgekernel/forge/ir"
	"forgekernel/forge/op"
)

func measured(t *testing.T) *capture.Capture {
	t.Helper()
	g, err := ir.Parse(op.Registry, "graph f(%x: f32[4]) {\n  %y: f32[4] = relu %x\n  return %y\n}\n")
	if err != nil {
		t.Fatal(err)
	}
	s, err := capture.NewSubject("f", g, 1)
	if err != nil {
		t.Fatal(err)
	}
	c, err := capture.New(capture.Settings{Samples: 2, Warmup: 1, Seed: 1}).Measure(t.Context(), []*capture.Subject{s}, []capture.Candidate{capture.OnBackend(interp.New(), capture.Written, 1)})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func open(t *testing.T, path string) *Store {
	t.Helper()
	s, err := Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func TestStore(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a store?#%.db")
	first, second := measured(t), measured(t)
	s := open(t, path)
	for _, c := range []*capture.Capture{second, first, first} {
		if err := s.Put(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	s = open(t, path) // a second process
	ids, err := s.IDs(t.Context())
	want := []string{first.ID, second.ID}
	slices.Sort(want)
	if err != nil || !slices.Equal(ids, want) {
		t.Errorf("%v, captures %v, want %v", err, ids, want)
	}
	back, err := s.Get(t.Context(), first.ID)
	if err != nil {
		t.Fatal(err)
	}
	a, errA := capture.Hash(first)
	b, errB := capture.Hash(back)
	if errA != nil || errB != nil || a != b {
		t.Errorf("a capture with the hash %s came back with %s (%v, %v)", a, b, errA, errB)
	}
	if _, err := s.Get(t.Context(), "x"); err == nil || !strings.Contains(err.Error(), `no capture "x"`) {
		t.Errorf("a capture that is not there: %v", err)
	}
	first.Environment.CPU = "another"
	if err := s.Put(t.Context(), first); err == nil || !strings.Contains(err.Error(), "another capture") {
		t.Errorf("another capture with the same id: %v", err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Errorf("the store is elsewhere: %v", err)
	}
}

func TestStoreRefuses(t *testing.T) {
	dir := t.TempDir()
	s := open(t, filepath.Join(dir, "good.db"))
	c := measured(t)
	if err := s.Put(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	if _, err := s.db.Exec("UPDATE captures SET file = CAST(replace(CAST(file AS TEXT), '\"cores\": ', '\"cores\": 1') AS BLOB)"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Get(t.Context(), c.ID); err == nil || !strings.Contains(err.Error(), "it was changed") {
		t.Errorf("a row that was changed: %v", err)
	}
	text := filepath.Join(dir, "text")
	if err := os.WriteFile(text, []byte(strings.Repeat("no database ", 500)), 0o600); err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(dir, "other.db")
	newer := filepath.Join(dir, "newer.db")
	for path, statement := range map[string]string{other: "CREATE TABLE t (x)", newer: "PRAGMA application_id = 1717789040; PRAGMA user_version = 9"} {
		db, err := sql.Open("sqlite", path)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := db.Exec(statement); err != nil {
			t.Fatal(err)
		}
		db.Close()
	}
	for path, want := range map[string]string{text: "not a database", other: "no store of captures", newer: "version 9", filepath.Join(dir, "no", "folder"): "unable to open"} {
		if s, err := Open(t.Context(), path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, %v; want %q", path, s, err, want)
		}
	}
}
