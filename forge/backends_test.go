package forge

import (
	"slices"
	"strings"
	"testing"
)

// TestBackends makes each backend by its name. Where the host has no GPU, the error of
// "cuda" says what is missing.
func TestBackends(t *testing.T) {
	for _, name := range Backends() {
		if name == "cuda" {
			continue // a driver may be there and no device
		}
		if b, err := NewBackend(name, 1); err != nil || b.Name() != name {
			t.Errorf("%s: %v", name, err)
		}
	}
	found := Devices()
	b, err := NewBackend("cuda", 1)
	switch {
	case len(found.Missing) > 0 || len(found.Devices) == 0:
		if err == nil || !strings.HasPrefix(err.Error(), "backend cuda cannot be had: ") {
			t.Errorf("error %v, though there is %+v", err, found)
		}
	case err != nil || b.Name() != "cuda" || !slices.Contains(Backends(), "cuda"):
		t.Errorf("%v, though there is %+v", err, found)
	}
	for _, name := range []string{"cuda:", "cuda:x", "cuda:-1", "metal"} {
		if _, err := NewBackend(name, 1); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: error %v", name, err)
		}
	}
	if _, err := NewBackend("cuda:99", 1); err == nil {
		t.Error("device 99 was opened")
	}
}
