package main

import (
	"encoding/json"
	"strings"
	"testing"
)

const naiveSoftmax = `def smax(x: f32[4,16]):
    e = exp(x)
    return e / e.sum(axis=-1, keepdims=True)
`

const stableSoftmax = `def smax(x: f32[4,16]):
    e = exp(x - max(x, axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)
`

// The two ways to write softmax are told apart by large inputs.
func TestCheck(t *testing.T) {
	inFolder(t, map[string]string{"naive.fs": naiveSoftmax, "stable.fs": stableSoftmax})
	for line, want := range map[string]int{
		"check naive.fs":                0,
		"check naive.fs --scale 100":    exitFailure,
		"check stable.fs":               0,
		"check stable.fs --scale 100":   0,
		"check stable.fs --scale 1000":  0,
		"check stable.fs --budget 1e-9": exitFailure,
	} {
		if out, got := command(t, strings.Fields(line)...); got != want {
			t.Errorf("forge %s: exit status %d, want %d\n%s", line, got, want, out)
		}
	}
	out, _ := command(t, "check", "naive.fs", "--scale", "100")
	for _, want := range []string{"first in %e = exp at naive.fs:2:9", "is the first to give +Inf", "first over budget", "units in the last place"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing in\n%s", want, out)
		}
	}
	out, _ = command(t, "check", "naive.fs", "--scale", "100", "--json")
	var r struct {
		Format  string
		Version int
		First   int
		Rows    []struct {
			Value, Source string
			Over          bool
			Accumulated   struct {
				Relative any
				Lost     int
			}
		}
		Origin struct{ Value, Result, Source string }
	}
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatal(err)
	}
	if r.Format != "forge.audit" || r.Version != 1 || r.First != 0 || len(r.Rows) != 3 || !r.Rows[0].Over || r.Rows[0].Accumulated.Lost == 0 ||
		r.Rows[0].Accumulated.Relative != "Infinity" || r.Origin.Value != "%e" || r.Origin.Result != "Infinity" || r.Origin.Source != "naive.fs:2:9" {
		t.Errorf("the report is %+v", r)
	}
}

// A dump is checked as the program that it is, with the places of its source.
func TestCheckIR(t *testing.T) {
	inFolder(t, map[string]string{"naive.fs": naiveSoftmax, "wrong.ir": "graph"})
	succeed(t, "dump naive.fs --after trace -o naive.ir")
	out, status := command(t, "check", "naive.ir", "--scale", "100")
	if status != exitFailure || !strings.Contains(out, "first in %e = exp at naive.fs:2:9") {
		t.Errorf("exit status %d\n%s", status, out)
	}
	succeed(t, "check naive.ir")
	for line, want := range map[string]int{
		"check":                              exitUsage,
		"check absent.fs":                    exitFailure,
		"check wrong.ir":                     exitFailure,
		"check naive.fs --budget 0":          exitUsage,
		"check naive.fs --scale -1":          exitUsage,
		"check naive.fs --shapes 3,4":        exitFailure,
		"check naive.fs --shapes 2x3":        0,
		"check naive.ir --shapes 2x3":        exitUsage,
		"check naive.ir --entry f":           exitUsage,
		"check naive.fs --inputs absent.npz": exitFailure,
		"check naive.fs --seed 1 --inputs x": exitUsage,
	} {
		if _, got := command(t, strings.Fields(line)...); got != want {
			t.Errorf("forge %s: exit status %d, want %d", line, got, want)
		}
	}
}
