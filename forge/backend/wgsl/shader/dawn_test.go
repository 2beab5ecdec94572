package shader

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"forgekernel/forge/backend/wgsl/shader/check"
	"forgekernel/forge/backend/wgsl/shader/syntax"
)

// dawn runs programs on Dawn for Node with a software adapter.
type dawnProgram struct {
	Source    string             `json:"source"`
	Groups    [3]uint32          `json:"groups"`
	Buffers   []dawnBuffer       `json:"buffers"`
	Overrides map[string]float64 `json:"overrides,omitempty"`
}

type dawnBuffer struct {
	Binding uint32 `json:"binding"`
	Uniform bool   `json:"uniform"`
	Data    []byte `json:"data"`
}

type dawnResult struct {
	Messages []struct {
		Line, Column int
		Text         string
	}
	Buffers [][]byte
}

func dawn(t *testing.T, programs []dawnProgram) (features map[string]bool, results []dawnResult) {
	t.Helper()
	folder := os.Getenv("FORGE_WEBGPU_MODULES")
	if folder == "" {
		t.Skip("FORGE_WEBGPU_MODULES does not name the folder with the npm package webgpu")
	}
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip(err)
	}
	input, err := json.Marshal(programs)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), node, "testdata/dawn.js", folder)
	cmd.Stdin = bytes.NewReader(input)
	var problems bytes.Buffer
	cmd.Stderr = &problems
	if vulkan := os.Getenv("FORGE_WEBGPU_VULKAN"); vulkan != "" {
		cmd.Env = append(os.Environ(), "LD_LIBRARY_PATH="+vulkan, "VK_ICD_FILENAMES="+filepath.Join(vulkan, "vk_swiftshader_icd.json"))
	}
	output, err := cmd.Output()
	if err != nil {
		t.Fatalf("dawn: %v\n%s", err, problems.String())
	}
	var answer struct {
		Features []string
		Results  []dawnResult
	}
	output = output[bytes.LastIndexByte(output, '\n')+1:] // Dawn prints warnings before
	if err := json.Unmarshal(output, &answer); err != nil {
		t.Fatal(err)
	}
	if len(answer.Results) != len(programs) {
		t.Fatalf("dawn gave %d results for %d programs", len(answer.Results), len(programs))
	}
	features = map[string]bool{}
	for _, f := range answer.Features {
		features[f] = true
	}
	return features, answer.Results
}

// TestDawnAgreesOnValid compares every word of every buffer.
func TestDawnAgreesOnValid(t *testing.T) {
	entries := corpus(t, "valid")
	var programs []dawnProgram
	var modules []*Module
	for _, e := range entries {
		m := parse(t, e.source)
		bindings, vars := e.buffers(t, m)
		p := dawnProgram{Source: e.source, Groups: e.groups, Overrides: e.overrides, Buffers: []dawnBuffer{}}
		for _, v := range vars {
			p.Buffers = append(p.Buffers, dawnBuffer{v.Binding, v.Space == check.Uniform, bindings[Binding{0, v.Binding}]})
		}
		programs, modules = append(programs, p), append(modules, m)
	}
	features, results := dawn(t, programs)
	for i, e := range entries {
		t.Run(e.name, func(t *testing.T) {
			if strings.Contains(e.source, "enable f16") && !features["shader-f16"] {
				t.Skip("Dawn's adapter has no shader-f16")
			}
			if len(results[i].Messages) > 0 {
				t.Fatalf("Dawn refuses it: %v", results[i].Messages)
			}
			bindings, vars := e.buffers(t, modules[i])
			if err := modules[i].Dispatch(context.Background(), Call{Groups: e.groups, Bindings: bindings, Overrides: e.overrides}); err != nil {
				t.Fatal(err)
			}
			for j, v := range vars {
				compare(t, v, bindings[Binding{0, v.Binding}], results[i].Buffers[j], e.tolerance)
			}
		})
	}
}

func compare(t *testing.T, v *check.Var, ours, dawns []byte, tolerance float64) {
	t.Helper()
	kinds := kindsOf(v.Type, 0)
	for at := 0; at+4 <= len(ours); at += 4 {
		a, b := binary.LittleEndian.Uint32(ours[at:]), binary.LittleEndian.Uint32(dawns[at:])
		if k := kinds[at/4%len(kinds)]; differ(k, a, b, tolerance) {
			t.Errorf("word %d of '%s' is %s, Dawn has %s", at/4, v.Name, show(k, a), show(k, b))
		}
	}
}

func TestDawnAgreesOnInvalid(t *testing.T) {
	entries := corpus(t, "invalid")
	var programs []dawnProgram
	for _, e := range entries {
		programs = append(programs, dawnProgram{Source: e.source})
	}
	features, results := dawn(t, programs)
	for i, e := range entries {
		t.Run(e.name, func(t *testing.T) {
			if strings.Contains(e.source, "enable f16") && !features["shader-f16"] {
				t.Skip("Dawn's adapter has no shader-f16")
			}
			if len(results[i].Messages) == 0 {
				t.Fatalf("Dawn accepts it")
			}
			if m := results[i].Messages[0]; m.Line != e.line {
				t.Errorf("Dawn refuses line %d, not %d: %s", m.Line, e.line, m.Text)
			}
		})
	}
}

// scrambled are programs with a word left out, doubled, or in the place of
// another: each seventh word of the corpus.
func scrambled(t *testing.T) (names, programs []string) {
	n := 0
	for _, e := range corpus(t, "valid") {
		tokens, err := syntax.Scan(e.source)
		if err != nil {
			t.Fatal(err)
		}
		offset := offsets(e.source)
		for i, tok := range tokens[:len(tokens)-1] {
			if n++; n%7 != 0 || strings.Contains(e.source, "enable f16") {
				continue
			}
			at := offset(tok.Pos)
			with := ""
			switch n / 7 % 3 {
			case 1:
				with = tok.Text + " " + tok.Text
			case 2:
				with = tokens[(i*7+n)%(len(tokens)-1)].Text
			}
			names = append(names, fmt.Sprintf("%s %s %s to %q", e.name, tok.Pos, tok.Text, with))
			programs = append(programs, e.source[:at]+" "+with+" "+e.source[at+len(tok.Text):])
		}
	}
	return names, programs
}

// TestDawnAgreesOnScrambled checks that both accept and refuse the same, and in
// the same line.
func TestDawnAgreesOnScrambled(t *testing.T) {
	names, sources := scrambled(t)
	var programs []dawnProgram
	for _, src := range sources {
		programs = append(programs, dawnProgram{Source: src})
	}
	_, results := dawn(t, programs)
	refused := 0
	for i, r := range results {
		_, err := Parse(sources[i])
		switch {
		case err != nil && len(r.Messages) == 0:
			t.Errorf("%s: Dawn accepts it; %v", names[i], err)
		case err == nil && len(r.Messages) > 0:
			t.Errorf("%s: Dawn refuses it: %v", names[i], r.Messages[0])
		case err != nil:
			refused++
			if at := err.(*syntax.Error).Pos; at.Line != r.Messages[0].Line {
				t.Errorf("%s: %v; Dawn refuses %v", names[i], err, r.Messages[0])
			}
		}
	}
	t.Logf("%d of %d programs are refused by both", refused, len(programs))
}
