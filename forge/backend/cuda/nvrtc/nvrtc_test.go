package nvrtc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"forgekernel/forge/backend/cuda/library"
)

// compiler is NVRTC, without which a test is skipped.
func compiler(t testing.TB) *Compiler {
	t.Helper()
	c, err := Open()
	var missing *library.Missing
	if errors.As(err, &missing) {
		t.Skip("there is no NVRTC: ", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("FORGE_CACHE_DIR", t.TempDir())
	t.Logf("NVRTC %s, %s", c.Version, c.Path)
	return c
}

const scale = `extern "C" __global__ void scale(float *y, const float *x, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + 1;
}
`

// machine is the number of the architecture in the flags of a cubin's ELF header.
func machine(cubin []byte) byte {
	if cubin[7] == 0x41 { // from CUDA 13 on
		return cubin[0x31]
	}
	return cubin[0x30]
}

func TestArchitectures(t *testing.T) {
	c := compiler(t)
	supported, err := c.Supported()
	if err != nil || len(supported) == 0 {
		t.Fatalf("supported %q, %v", supported, err)
	}
	for _, arch := range Architectures {
		t.Run(arch, func(t *testing.T) {
			cubin, err := c.Cubin(t.Context(), Source{Name: "scale.cu", Text: scale, Arch: arch})
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.HasPrefix(cubin, []byte("\x7fELF")) || !bytes.Contains(cubin, []byte(".text.scale")) {
				t.Error("it is no ELF file with the kernel")
			}
			if want := strings.TrimSuffix(arch, "a")[3:]; want != fmt.Sprint(machine(cubin)) {
				t.Errorf("the ELF header says %d", machine(cubin))
			}
		})
	}
}

func TestCache(t *testing.T) {
	c := compiler(t)
	s := Source{Name: "scale.cu", Text: scale, Arch: "sm_80"}
	first, err := c.Cubin(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(os.Getenv("FORGE_CACHE_DIR"), "cuda", c.key(s)+"*"))
	if err != nil || len(files) != 1 {
		t.Fatalf("files %q, %v", files, err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	again, err := c.Cubin(ended, s) // nothing is compiled, so that it does not matter
	if err != nil || !bytes.Equal(first, again) {
		t.Errorf("the second time: %v, equal %v", err, bytes.Equal(first, again))
	}
	if err := os.WriteFile(files[0], append(first, make([]byte, 32)...), 0o600); err != nil {
		t.Fatal(err)
	}
	if again, err = c.Cubin(t.Context(), s); err != nil || !bytes.Equal(first, again) {
		t.Errorf("after damage: %v, equal %v", err, bytes.Equal(first, again))
	}
	s.Arch = "sm_86"
	if _, err = c.Cubin(ended, s); !errors.Is(err, context.Canceled) {
		t.Errorf("for another architecture: %v", err)
	}
}

func TestFailure(t *testing.T) {
	c := compiler(t)
	_, err := c.Cubin(t.Context(), Source{Name: "wrong.cu", Text: "__global__ void f(int *y) {\n  *y = nothing;\n}\n", Arch: "sm_75"})
	var f *Failure
	var code *Error
	if !errors.As(err, &f) || !errors.As(err, &code) || code.Name != "NVRTC_ERROR_COMPILATION" {
		t.Fatalf("error %v", err)
	}
	for _, part := range []string{"compiles wrong.cu for sm_75", `identifier "nothing" is undefined`, "    2 |   *y = nothing;"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("the error lacks %q:\n%v", part, err)
		}
	}
	noisy := strings.Repeat("static __device__ void unused#() {}\n", 300)
	for i := range 300 {
		noisy = strings.Replace(noisy, "#", fmt.Sprint(i), 1)
	}
	for wrong, want := range map[string]string{
		"__global__ void f(int *y) { *y = nothing; }\n":                                              `identifier "nothing" is undefined`,
		"__global__ void f(int *y) { __shared__ int x[20000]; y[0] = x[y[1]]; y[2] = x[y[3]]++; }\n": "uses too much shared data",
	} {
		if _, err := c.Compile(Source{Name: "noisy.cu", Text: noisy + wrong, Arch: "sm_75"}); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "never referenced") || strings.Contains(err.Error(), "Remark") {
			t.Errorf("behind warnings, want %q:\n%v", want, err)
		}
	}
	if _, err := c.Compile(Source{Name: "old.cu", Text: scale, Arch: "sm_10"}); err == nil || !strings.Contains(err.Error(), "sm_10") {
		t.Errorf("an architecture that there is not: %v", err)
	}
	if _, err := c.Compile(Source{Name: "zero.cu", Text: "int\x00", Arch: "sm_75"}); err == nil {
		t.Error("a byte 0 was compiled")
	}
}

// TestHeader compares the names of results with the header, where there is one.
func TestHeader(t *testing.T) {
	c := compiler(t)
	header := filepath.Join(filepath.Dir(filepath.Dir(c.Path)), "include", "nvrtc.h")
	if !filepath.IsAbs(c.Path) { // the dynamic loader found it
		header = "/usr/local/cuda/include/nvrtc.h"
	}
	cc, err := exec.LookPath("cc")
	if _, no := os.Stat(header); no != nil || err != nil {
		t.Skip("there is no C compiler, or no header at ", header)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "#include <stddef.h>\n#include %q\n", header)
	for i, name := range results {
		fmt.Fprintf(&b, "_Static_assert(%s == %d, \"\");\n", name, i)
	}
	cmd := exec.CommandContext(t.Context(), cc, "-std=c11", "-fsyntax-only", "-x", "c", "-")
	cmd.Stdin = strings.NewReader(b.String())
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}
