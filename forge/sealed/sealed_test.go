package sealed

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var kind = Kind{Format: "forge.test", Version: 2, Limit: 1 << 10}

type value struct {
	Name string `json:"name"`
}

func TestSaveAndRead(t *testing.T) {
	raw, err := kind.Encode(value{"a"})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for range 2 { // the second is in place of the first
		path, err := Save(dir, "a.json", raw)
		if err != nil {
			t.Fatal(err)
		}
		var got value
		if err := kind.Read(path, &got); err != nil || got.Name != "a" {
			t.Errorf("read %+v, %v", got, err)
		}
	}
	if left, _ := os.ReadDir(dir); len(left) != 1 {
		t.Errorf("the folder has %v", left)
	}
	if err := os.Symlink("a.json", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	if err := kind.Read(filepath.Join(dir, "link"), new(value)); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("a link: %v", err)
	}
}

func TestRefused(t *testing.T) {
	if _, err := kind.Encode(value{strings.Repeat("a", 2000)}); err == nil || !strings.Contains(err.Error(), "at most 1024") {
		t.Errorf("a long record: %v", err)
	}
	raw, err := kind.Encode(value{"a"})
	if err != nil {
		t.Fatal(err)
	}
	for want, raw := range map[string][]byte{
		"EOF":                nil,
		"unexpected EOF":     raw[:len(raw)/2],
		"SHA-256":            bytes.Replace(raw, []byte(`"a"`), []byte(`"b"`), 1),
		"version 3; this":    bytes.Replace(raw, []byte(`: 2`), []byte(`: 3`), 1),
		`it is "forge.toast`: bytes.Replace(raw, []byte("forge.test"), []byte("forge.toast"), 1),
		"unknown field":      Reseal(bytes.Replace(raw, []byte(`"name"`), []byte(`"nomen"`), 1)),
		"something follows":  append(bytes.Clone(raw), "{}"...),
	} {
		if err := kind.Decode(raw, new(value)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got error %v, want one with %q", err, want)
		}
	}
}

func FuzzDecode(f *testing.F) {
	raw, err := kind.Encode(value{"a"})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(raw)
	f.Add([]byte(`{"format":"forge.test","version":2,"sha256":"","record":{}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		var v, w value
		if kind.Decode(Reseal(raw), &v) != nil {
			return
		}
		again, err := kind.Encode(v)
		if err != nil {
			return // too long
		}
		if err := kind.Decode(again, &w); err != nil || v != w {
			t.Errorf("read %+v and then %+v, %v", v, w, err)
		}
	})
}
