package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// written makes a file of a test.
func written(t *testing.T, lines ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "prompts.jsonl")
	if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// resultLine is a line of an output.
type resultLine struct {
	Line  int
	ID    json.RawMessage
	Error string
	IDs   []int32
}

// results reads the lines of an output.
func results(t *testing.T, text string) (list []resultLine) {
	t.Helper()
	for line := range strings.Lines(text) {
		var r resultLine
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		list = append(list, r)
	}
	return list
}

// Each prompt of a batch is continued as on its own, whatever runs beside it, in the
// order of the input; lines that are wrong harm no other.
func TestNebulaBatch(t *testing.T) {
	lines := []string{`{"prompt": "Once", "id": "first"}`, "", `{"prompt": 3}`, `{"ids": [1, 2, 3], "max_tokens": 5, "id": 7}`, `{"ids": [1], "prompt": "x"}`, `{"nonsense": 1}`, `{"ids": [999]}`}
	for i := range 10 {
		lines = append(lines, fmt.Sprintf(`{"ids": [%d, 2, 3], "max_tokens": %d, "temperature": 1, "seed": %d}`, i, 2+i%5, i))
	}
	in := written(t, lines...)
	var one []resultLine
	for _, layout := range []string{"", "--tp 2", "--pp 2"} {
		out := filepath.Join(t.TempDir(), "out.jsonl")
		got := runForge(t, "nebula batch --rows 4 -n 6 --input "+in+" --output "+out+" --json "+layout+tinyModel)
		var sum batchSummary
		if err := json.Unmarshal([]byte(got.stdout), &sum); err != nil || got.status != exitFailure || sum.Requests != 16 || sum.Failed != 4 || sum.Rate <= 0 {
			t.Fatalf("%s: %+v, %v", layout, got, err)
		}
		if !strings.Contains(got.stderr, "forge: 4 of 16 prompts have no continuation, or not all of it: line 3: ") {
			t.Errorf("stderr is %q", got.stderr)
		}
		raw, err := os.ReadFile(out)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(out + partSuffix); !os.IsNotExist(err) {
			t.Errorf("%s: the part of a whole output is there: %v", layout, err)
		}
		list := results(t, string(raw))
		generated := 0
		for i, r := range list {
			if bad := i == 1 || i == 3 || i == 4 || i == 5; bad != (r.Error != "") || r.Line != i+1 && i == 0 || i > 0 && r.Line != i+2 {
				t.Errorf("result %d: %+v", i, r)
			}
			generated += len(r.IDs)
		}
		if len(list) != 16 || string(list[0].ID) != `"first"` || string(list[2].ID) != "7" || len(list[2].IDs) != 5 || len(list[0].IDs) != 6 || generated != sum.Generated {
			t.Errorf("%s: %+v", layout, list)
		}
		if one == nil {
			one = list
		}
		for i := range list {
			if !slices.Equal(list[i].IDs, one[i].IDs) || list[i].Error != one[i].Error {
				t.Errorf("%s: line %d gives %+v, on one rank %+v", layout, list[i].Line, list[i], one[i])
			}
		}
	}
	alone := runForge(t, "nebula generate --ids 3,2,3 -n 5 --temperature 1 --seed 3 --json"+tinyModel)
	var g generated
	if err := json.Unmarshal([]byte(alone.stdout), &g); err != nil || !slices.Equal(g.IDs, one[9].IDs) {
		t.Errorf("alone it is %v, in the batch %v; %v", g.IDs, one[9].IDs, err)
	}
}

// Without an output file the continuations are what is printed.
func TestNebulaBatchPrints(t *testing.T) {
	got := runForge(t, "nebula batch -n 3 --tp 2 --input "+written(t, `{"ids": [1]}`, `{"ids": [2]}`)+tinyModel)
	if list := results(t, got.stdout); got.status != 0 || len(list) != 2 || len(list[1].IDs) != 3 || !strings.Contains(got.stderr, "2 prompts of 2 tokens") {
		t.Errorf("%+v", got)
	}
	for args, want := range map[string]int{
		tinyModel: exitUsage, "--input /nowhere/x" + tinyModel: exitFailure, "--rows 0 --input x" + tinyModel: exitUsage, "--json --input x" + tinyModel: exitUsage,
		"--input " + written(t, "", " ") + tinyModel: exitFailure,
	} {
		if out, status := command(t, append([]string{"nebula", "batch"}, strings.Fields(args)...)...); status != want || out != "" {
			t.Errorf("batch %s: status %d: %s", args, status, out)
		}
	}
}

// What is wrong with a line is told by the field and what it takes.
func TestBatchLineErrors(t *testing.T) {
	for line, want := range map[string]string{
		`{"prompt": "x", "max_tokens": "4"}`: `field "max_tokens" is "4"; it must be a whole number`,
		`{"prompt": "x", "max_tokens": 4.5}`: `field "max_tokens" is 4.5; it must be a whole number`,
		`{"prompt": 5}`:                      `field "prompt" is 5; it must be a text`,
		`{"ids": [1, 2.5]}`:                  `field "ids" is [1, 2.5]; it must be a list of tokens such as [1, 2, 3]`,
		`{"ids": [3000000000]}`:              `field "ids" is [3000000000]; it must be a list of tokens such as [1, 2, 3]`,
		`{"prompt": "x", "top_p": 1e999}`:    `field "top_p" is 1e999; it must be a number`,
		`{"prompt": "x", "seed": -1}`:        `field "seed" is -1; it must be a whole number that is not negative`,
		`{"prompt": "x", "stop": "y"}`:       `field "stop" is "y"; it must be a list of texts such as ["\n"]`,
		`{"promt": "x"}`:                     `there is no field "promt"; there are id, prompt, ids, max_tokens, temperature, top_k, top_p, min_p, repetition_penalty, seed, stop, logprobs`,
		`{"Prompt": "x"}`:                    `there is no field "Prompt"; there are id, prompt, ids, max_tokens, temperature, top_k, top_p, min_p, repetition_penalty, seed, stop, logprobs`,
		`{"seed": 1, "seed": 2}`:             `field "seed" is given twice`,
		`{}`:                                 `it must have one of the fields "prompt" and "ids"`,
		`{"prompt": null}`:                   `it must have one of the fields "prompt" and "ids"`,
		`{"prompt": "x", "ids": [1]}`:        `it must have one of the fields "prompt" and "ids"`,
		`{"prompt": "x"} 3`:                  `something follows the object`,
		`[1]`:                                `it is [1]; it must be an object such as {"prompt": "Once"}`,
		`null`:                               `it is null; it must be an object such as {"prompt": "Once"}`,
		`nonsense`:                           `it is not JSON from column 2 on: onsense`,
		`{"prompt": x}`:                      `it is not JSON from column 12 on: x}`,
		`{"prompt": "x"`:                     `it is not JSON: it ends too early, after {"prompt": "x"`,
		`{"prompt": "x"]`:                    `it is not JSON from column 15 on: ]`,
		"{\"prompt\": \"\xff\"}":             `it is not UTF-8: byte 12 is 0xff`,
		`{"prompt": "` + strings.Repeat("ä", 60) + `", "prompt": 3}`: `field "prompt" is given twice`,
		`{"stop": "` + strings.Repeat("ä", 60) + `"}`:                `field "stop" is "` + strings.Repeat("ä", 19) + `…; it must be a list of texts such as ["\n"]`,
	} {
		if _, err := parseBatchLine([]byte(line)); err == nil || err.Error() != want {
			t.Errorf("%s\n%v, not\n%s", line, err, want)
		}
	}
}

func FuzzBatchLine(f *testing.F) {
	for _, s := range []string{`{"prompt": "x", "stop": ["a"], "seed": 3}`, `{"ids": [1, 2], "temperature": 0.5}`, `{"ids": []}`, `[]`, `{"prompt": null} {}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		l, err := parseBatchLine(raw)
		if err != nil {
			return
		}
		s := l.sampling(sampling{})
		_ = s.Params.Check()
		if (l.Prompt == nil) == (l.IDs == nil) {
			t.Errorf("%s is taken", raw)
		}
	})
}

// What a batch has computed outlives the rank that writes it.
func TestNebulaBatchKilled(t *testing.T) {
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
	in := written(t, slices.Repeat([]string{`{"ids": [1, 2, 3]}`}, 20000)...)
	out := filepath.Join(t.TempDir(), "out.jsonl")
	p := startForge(t, strings.Fields("nebula batch -n 8 --ignore-eos --tp 2 --input "+in+" --output "+out+tinyModel)...)
	for {
		raw, err := os.ReadFile(out + partSuffix)
		if strings.Count(string(raw), "\n") > 2 {
			break
		}
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		time.Sleep(time.Millisecond)
	}
	syscall.Kill(runningRanks(t)[0], syscall.SIGKILL)
	if got := p.status(); got != exitFailure || !strings.Contains(p.stderr.String(), "rank 0 was ended by SIGKILL") {
		t.Errorf("exit status %d: %s", got, p.stderr.String())
	}
	raw, err := os.ReadFile(out + partSuffix)
	if err != nil {
		t.Fatal(err)
	}
	whole := raw[:strings.LastIndexByte(string(raw), '\n')+1]
	for _, r := range results(t, string(whole)) {
		if r.Error != "" || len(r.IDs) != 8 {
			t.Errorf("line %d: %+v", r.Line, r)
		}
	}
	if _, err := os.Stat(out); !os.IsNotExist(err) {
		t.Errorf("the output is there: %v", err)
	}
	noJobs(t)
}
