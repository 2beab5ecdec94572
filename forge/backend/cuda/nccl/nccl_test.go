package nccl

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"unsafe"

	"github.com/ebitengine/purego"

	"forgekernel/forge/backend"
	"forgekernel/forge/backend/cuda/library"
	"forgekernel/forge/tensor"
)

// nccl is the library, without which a test is skipped.
func nccl(t testing.TB) *Library {
	t.Helper()
	l, err := Open()
	var missing *library.Missing
	if errors.As(err, &missing) {
		t.Skip("there is no NCCL: ", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("NCCL %v, %s", l.Version, l.Path)
	return l
}

func TestVersion(t *testing.T) {
	for v, want := range map[Version]string{2708: "2.7.8", 21403: "2.14.3", 22809: "2.28.9", 23007: "2.30.7"} {
		if v.String() != want {
			t.Errorf("%d is %v, want %s", int32(v), v, want)
		}
	}
}

func TestIDs(t *testing.T) {
	l := nccl(t)
	a, err := l.NewID()
	if err != nil {
		t.Fatal(err)
	}
	b, err := l.NewID()
	if err != nil {
		t.Fatal(err)
	}
	if a == b || a == (ID{}) {
		t.Error("two groups have the same ID")
	}
}

// TestErrors sees that codes become errors with all that there is to say.
func TestErrors(t *testing.T) {
	l := nccl(t)
	err := l.call("nobody", "ncclCommGetAsyncError", 0, 0)
	var e *Error
	if !errors.As(err, &e) || !errors.Is(err, Result(4)) || errors.Is(err, RemoteError) {
		t.Fatalf("error %v", err)
	}
	for _, part := range []string{"ncclCommGetAsyncError (nobody): ncclInvalidArgument, code 4: ", e.Text} {
		if e.Text == "" || !strings.Contains(err.Error(), part) {
			t.Errorf("error %q lacks %q", err, part)
		}
	}
	if e := l.fail(99, "f", ""); e.Name != "an unknown code" || e.Text == "" {
		t.Errorf("error %q", e)
	}
}

func TestArguments(t *testing.T) {
	c := &Comm{Rank: 0, Size: 2, over: ErrClosed}
	if err := c.Send(t.Context(), nil, 2, tensor.F32, 0, 1); err == nil || err.Error() != "there is no rank 2 in a group of 2" {
		t.Errorf("a rank that there is not: %v", err)
	}
	if _, err := typeOf(99); err == nil {
		t.Error("an element type that there is not")
	}
	for _, r := range [][2]int{{-1, 2}, {2, 2}, {0, 0}, {0, MaxRanks + 1}} {
		if _, err := (&Library{}).Join(t.Context(), nil, ID{}, r[0], r[1]); err == nil {
			t.Errorf("rank %d of %d joins", r[0], r[1])
		}
	}
}

func TestInOrder(t *testing.T) {
	for _, c := range []struct {
		how  backend.Reduction
		d    tensor.DType
		size int
		want bool
	}{
		{backend.Sum, tensor.F32, 2, true}, {backend.Sum, tensor.BF16, 3, false}, {backend.Max, tensor.F32, 2, false},
		{backend.Sum, tensor.I32, 8, true}, {backend.Max, tensor.I64, 8, true}, {backend.Sum, tensor.Bool, 8, true},
	} {
		if got := InOrder(c.how, c.d, c.size); got != c.want {
			t.Errorf("%v of %v over %d ranks: %v", c.how, c.d, c.size, got)
		}
	}
}

// TestPrepare sees that C has the variables, and that nobody's choice is changed.
func TestPrepare(t *testing.T) {
	if os.Getenv("NCCL_TEST_PREPARE") != "" {
		if err := prepare(); err != nil {
			t.Fatal(err)
		}
		fmt.Println("found", os.Getenv("NCCL_NVLS_ENABLE"), os.Getenv("NCCL_RAS_ENABLE"))
		return
	}
	for nvls, want := range map[string]string{"": "found 0 0", "NCCL_NVLS_ENABLE=1": "found 1 0"} {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestPrepare$", "-test.v")
		for _, e := range os.Environ() {
			if !strings.HasPrefix(e, "NCCL_") {
				cmd.Env = append(cmd.Env, e)
			}
		}
		cmd.Env = append(cmd.Env, "NCCL_TEST_PREPARE=1")
		if nvls != "" {
			cmd.Env = append(cmd.Env, nvls)
		}
		if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), want) {
			t.Errorf("with %q: %v, %s", nvls, err, out)
		}
	}
}

// TestByValue sees that an ID arrives as C passes structures of its size: on the stack.
func TestByValue(t *testing.T) {
	cc, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("there is no C compiler")
	}
	source, object := filepath.Join(t.TempDir(), "take.c"), filepath.Join(t.TempDir(), "take.so")
	text := `typedef struct { char b[128]; } id;
int take(void **comm, int ranks, id x, int rank, void *config) {
  int sum = 0;
  for (int i = 0; i < 128; i++) sum += (i + 1) * (unsigned char)x.b[i];
  *comm = config;
  return sum * 100 + ranks * 10 + rank;
}
`
	if err := os.WriteFile(source, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), cc, "-shared", "-fPIC", "-o", object, source).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	handle, err := purego.Dlopen(object, purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		t.Fatal(err)
	}
	var take initConfig
	purego.RegisterLibFunc(&take, handle, "take")
	var id ID
	sum := 0
	for i := range id {
		id[i] = byte(3*i + 1)
		sum += (i + 1) * int(id[i])
	}
	c, comm := newConfig(), uintptr(0)
	if got := take(&comm, 4, struct{ ID }{id}, 3, c); got != int32(sum*100+43) || comm != uintptr(unsafe.Pointer(c)) {
		t.Errorf("it gives %d, want %d; the configuration at %#x, want %p", got, sum*100+43, comm, c)
	}
}

// TestHeader compiles this package's constants and layouts against nccl.h beside the
// library, where it is present.
func TestHeader(t *testing.T) {
	l := nccl(t)
	header := filepath.Join(filepath.Dir(filepath.Dir(l.Path)), "include", "nccl.h")
	cc, err := exec.LookPath("cc")
	if _, no := os.Stat(header); no != nil || err != nil {
		t.Skip("there is no C compiler, or no header at ", header)
	}
	var c config
	equal := []struct {
		c    string
		want uint64
	}{
		{"sizeof(ncclUniqueId)", uint64(unsafe.Sizeof(ID{}))}, {"sizeof(ncclComm_t)", uint64(unsafe.Sizeof(Comm{}.handle))}, {"sizeof(ncclResult_t)", uint64(unsafe.Sizeof(inProgress))},
		{"offsetof(ncclConfig_t, size)", uint64(unsafe.Offsetof(c.size))}, {"offsetof(ncclConfig_t, magic)", uint64(unsafe.Offsetof(c.magic))},
		{"offsetof(ncclConfig_t, version)", uint64(unsafe.Offsetof(c.version))}, {"offsetof(ncclConfig_t, blocking)", uint64(unsafe.Offsetof(c.blocking))},
		{"offsetof(ncclConfig_t, cgaClusterSize)", uint64(unsafe.Offsetof(c.clusterSize))}, {"offsetof(ncclConfig_t, minCTAs)", uint64(unsafe.Offsetof(c.minCTAs))},
		{"offsetof(ncclConfig_t, maxCTAs)", uint64(unsafe.Offsetof(c.maxCTAs))}, {"offsetof(ncclConfig_t, netName)", uint64(unsafe.Offsetof(c.netName))},
		{"offsetof(ncclConfig_t, splitShare)", uint64(unsafe.Offsetof(c.splitShare))}, {"initial.magic", configMagic}, {"(unsigned)NCCL_CONFIG_UNDEF_INT", uint64(uint32(1 << 31))},
		{"ncclUint8", typeUint8}, {"ncclInt32", typeInt32}, {"ncclInt64", typeInt64}, {"ncclFloat16", typeFloat16}, {"ncclFloat32", typeFloat32},
		{"ncclFloat64", typeFloat64}, {"ncclBfloat16", typeBfloat16}, {"ncclSum", opSum}, {"ncclMax", opMax},
		{"ncclRemoteError", uint64(RemoteError)}, {"ncclInProgress", uint64(inProgress)},
	}
	for i, name := range results {
		equal = append(equal, struct {
			c    string
			want uint64
		}{name, uint64(i)})
	}
	// The little of the CUDA runtime's header that nccl.h uses.
	include := t.TempDir()
	for name, text := range map[string]string{
		"cuda_runtime.h": "#define CUDART_VERSION 12000\ntypedef struct CUstream_st *cudaStream_t; typedef int cudaError_t;\n", "cuda_fp16.h": "", "cuda_bf16.h": "#define __CUDA_BF16_TYPES_EXIST__\n", "cuda_fp8.h": "",
	} {
		if err := os.WriteFile(filepath.Join(include, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "#include <stddef.h>\n#include %q\nint main(void) {\n  ncclConfig_t initial = NCCL_CONFIG_INITIALIZER;\n", header)
	for _, e := range equal {
		fmt.Fprintf(&b, "  if ((unsigned long long)(%s) != %dull) return __LINE__;\n", e.c, e.want)
	}
	b.WriteString("  return 0;\n}\n")
	source, program := filepath.Join(include, "check.c"), filepath.Join(include, "check")
	if err := os.WriteFile(source, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), cc, "-std=c11", "-I", include, "-o", program, source).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v: %s", header, err, out)
	}
	if out, err := exec.CommandContext(t.Context(), program).CombinedOutput(); err != nil {
		lines := strings.Split(b.String(), "\n")
		at := 0
		if e := (*exec.ExitError)(nil); errors.As(err, &e) {
			at = e.ExitCode()
		}
		t.Errorf("%s: %v%s: %s", header, err, out, lines[max(at-1, 0)])
	}
	t.Log(header)
}
