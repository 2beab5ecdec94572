package kaggle

import (
	"bytes"
	"strings"
	"testing"
)

func TestSlug(t *testing.T) {
	for notebook, want := range map[string]string{
		"dir/12-two-gpus.ipynb": "forge-12-two-gpus",
		"My Notebook (1).ipynb": "forge-my-notebook-1",
		"ünïcode.ipynb":         "forge-n-code",
		"a-very-long-name-of-a-notebook-that-goes-on-and-on.ipynb": "forge-a-very-long-name-of-a-notebook-that-go",
	} {
		slug := Slug(notebook)
		if slug != want {
			t.Errorf("%s: %s, want %s", notebook, slug, want)
		}
		if err := (&Job{User: "ada", Slug: slug}).check(); err != nil {
			t.Errorf("%s: %v", notebook, err)
		}
	}
}

// A log that comes again from its beginning is shown from where it broke off.
func TestFresh(t *testing.T) {
	var shown bytes.Buffer
	first := &fresh{w: &shown}
	for _, part := range []string{"on", "e\ntw", "o\nhal"} {
		first.Write([]byte(part))
	}
	second := &fresh{w: &shown, skip: first.count}
	second.Write([]byte("one\ntwo\nhalf\n"))
	if shown.String() != "one\ntwo\nhalf\n" || second.count != 3 {
		t.Errorf("%q, %d lines", shown.String(), second.count)
	}
}

// What the tool says of a job, in the words of its versions.
func TestState(t *testing.T) {
	for said, want := range map[string]state{
		"ada/x has status \"KernelWorkerStatus.RUNNING\"\n":                               {name: "RUNNING"},
		"Warning: looks old\nada/x has status \"complete\"\n":                             {name: "COMPLETE"},
		"ada/x has status \"KernelWorkerStatus.ERROR\"\nFailure message: \"a \"b\" c\"\n": {"ERROR", `a "b" c`},
		"nothing": {},
	} {
		got, err := parseState(said)
		if got != want || (err == nil) != (want.name != "") {
			t.Errorf("%q: %+v, %v; want %+v", said, got, err, want)
		}
	}
}

func FuzzState(f *testing.F) {
	f.Add("ada/x has status \"KernelWorkerStatus.ERROR\"\nFailure message: \"why\"\n")
	f.Fuzz(func(t *testing.T, said string) {
		if s, err := parseState(said); err == nil && s.name == "" {
			t.Errorf("%q has no status and no error", said)
		}
	})
}

// What names no job is refused before the tool, which would take it for an option, is asked.
func TestFetchNames(t *testing.T) {
	for _, kernel := range []string{"", "job", "/job", "me/", "--help/job", "-p/job", "a b/job", "a/b/job", "me/--help"} {
		if _, err := new(Client).Fetch(t.Context(), kernel, t.TempDir()); err == nil || !strings.Contains(err.Error(), "is not a job: write USER/NAME") {
			t.Errorf("%q gives %v", kernel, err)
		}
	}
}
