package forge_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"forgekernel/forge"
	"forgekernel/forge/tensor"
)

func TestSafetensorsByName(t *testing.T) {
	want := map[string]*forge.Tensor{"w": forge.Arange(6).Reshape(2, 3), "b": forge.Zeros(0)}
	var b bytes.Buffer
	if err := forge.WriteSafetensors(&b, want); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "weights")
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := forge.ReadSafetensors(path)
	if err != nil || len(got) != len(want) {
		t.Fatalf("%v, %v", got, err)
	}
	for name, x := range want {
		if !tensor.SameBits(got[name], x) {
			t.Errorf("%s: %v", name, got[name])
		}
	}
	// The table is checked against the real size.
	if err := os.WriteFile(path, b.Bytes()[:b.Len()-1], 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := forge.ReadSafetensors(path); err == nil {
		t.Error("a file that lacks its last byte was read")
	}
	var z bytes.Buffer
	if err := tensor.WriteNPZ(&z, []tensor.Named{{Name: "w", Tensor: want["w"]}}); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, z.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := forge.ReadSafetensors(path); err == nil || !strings.Contains(err.Error(), "not safetensors") {
		t.Errorf("an archive of NumPy: %v", err)
	}
	if err := forge.WriteSafetensors(&b, map[string]*forge.Tensor{"none": nil}); err == nil {
		t.Error("a nil tensor was written")
	}
}
