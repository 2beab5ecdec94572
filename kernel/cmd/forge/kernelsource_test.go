package main

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestKernelSource prints the kernels of a program in every language, on any host.
func TestKernelSource(t *testing.T) {
	inFolder(t, map[string]string{"mlp.fs": mlpSource})
	for lang, wants := range map[string][]string{
		"triton": {"@triton.jit\ndef fused_h(", `"""%h: f32[4,6] = `, "LAUNCHES = [\n"},
		"cuda":   {`extern "C" __global__ void`, "fused_1("},
		"c":      {"KERNEL void fused_1(", "int forge_run_0_0("},
		"wgsl":   {"fn fused_1(@builtin(workgroup_id)", "@compute @workgroup_size(32, 1, 1)", "var<storage, read_write> p0: array<f32>;"},
		"loop":   {"kernel fused(%h: out f32", "\nnest [] x [24]\n  each "},
	} {
		out := succeed(t, "kernel-source mlp.fs --lang "+lang)
		for _, want := range wants {
			if !strings.Contains(out, want) {
				t.Errorf("the %s lacks %q:\n%.300s", lang, want, out)
			}
		}
		part := succeed(t, "kernel-source mlp.fs --lang "+lang+" --node %h --line-numbers")
		number := regexp.MustCompile(`^ *(\d+)  `)
		lines := strings.Split(out, "\n")
		for i, line := range strings.Split(strings.TrimRight(part, "\n"), "\n") {
			m := number.FindStringSubmatch(line)
			if m == nil {
				t.Fatalf("%s: line %d has no number: %q", lang, i, line)
			}
			if i == 0 && (len(part) >= len(out) || m[1] == "1") {
				t.Errorf("%s: the kernel of a node is all of the text", lang)
			}
		}
		if first := strings.SplitN(part, "\n", 2)[0]; !slices.Contains(lines, number.ReplaceAllString(first, "")) {
			t.Errorf("%s: the line %q is not in the text", lang, first)
		}
		if table := succeed(t, "kernel-source mlp.fs --table --lang "+lang); !strings.Contains(table, "%h: f32[4,6] = fused %0 (add, relu)") {
			t.Errorf("the table of %s is %s", lang, table)
		}
	}
	one := succeed(t, "kernel-source mlp.fs --lang triton --candidate 1")
	if all := succeed(t, "kernel-source mlp.fs --lang triton"); len(one) >= len(all) || strings.Count(one, "num_warps=") != strings.Count(one, "kernel=") {
		t.Errorf("a candidate is not one for each kernel:\n%s", one)
	}
	if out := succeed(t, "kernel-source mlp.fs --lang triton -o mlp.py"); out != "" {
		t.Errorf("-o prints %q", out)
	}
	if file, err := os.ReadFile("mlp.py"); err != nil || string(file) != succeed(t, "kernel-source mlp.fs --lang triton") {
		t.Errorf("the file is not what is printed: %v", err)
	}
}

// TestKernelSourceOfCopies lists a program that gives an input back, whose copy is of no
// node, in every language.
func TestKernelSourceOfCopies(t *testing.T) {
	inFolder(t, map[string]string{"both.fs": "def both(x: f32[3]): return x, x + 1\n"})
	for _, lang := range []string{"loop", "c", "cuda", "triton", "wgsl"} {
		if out := succeed(t, "kernel-source both.fs --lang "+lang); !strings.Contains(out, "%1") && !strings.Contains(out, "add") {
			t.Errorf("the %s is\n%s", lang, out)
		}
	}
	if table := succeed(t, "kernel-source both.fs --lang c --table"); !strings.Contains(table, "the copy of an input to a result ") || !strings.Contains(table, "copy_1") {
		t.Errorf("the table is\n%s", table)
	}
}

// TestKernelSourceErrors sees one clear error for each thing that there is not.
func TestKernelSourceErrors(t *testing.T) {
	inFolder(t, map[string]string{"mlp.fs": mlpSource, "wide.ir": wideGraph, "same.ir": "graph same(%x: f32[3]) {\n  return %x\n}\n"})
	for flags, want := range map[string]struct {
		status int
		text   string
	}{
		"":                                      {2, "--lang says which language: loop, c, cuda, triton, wgsl"},
		"--lang metal":                          {1, `no backend writes kernels in "metal"; there are loop, c, cuda, triton, wgsl`},
		"--lang triton --node %zz":              {1, "no kernel computes %zz; kernels compute %0, %h, %4"},
		"--lang wgsl --node %zz":                {1, "no kernel computes %zz; kernels compute %"},
		"--from same.ir --lang wgsl --node %zz": {1, "no kernel computes %zz, nor any other value of the program"},
		"--lang triton --candidate 99":          {1, "there is no candidate 99"},
		"--lang triton --candidate -1":          {2, "--candidate counts from 0"},
		"--lang cuda --arch sm_20":              {1, "not for sm_20"},
		"--lang cuda --arch hopper":             {1, "an architecture is written sm_90"},
		"--lang c --candidate 1000000000":       {1, "there is no candidate 1000000000"},
		"--from wide.ir --lang wgsl":            {1, "no node has a wgsl kernel: of 1, the first is %y = exp: %y is f64: WGSL has no f64"},
	} {
		cmd := root()
		if !strings.Contains(flags, "--from") {
			flags = "mlp.fs " + flags
		}
		cmd.SetArgs(strings.Fields("kernel-source " + flags))
		cmd, err := cmd.ExecuteContextC(t.Context())
		var said strings.Builder
		status := report(&said, cmd, err)
		out := said.String()
		if status != want.status || !strings.Contains(out, want.text) {
			t.Errorf("%s: status %d, %q; want %d and %q", flags, status, out, want.status, want.text)
		}
	}
}
