package front

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"forgekernel/kernel/wire"
)

func listing(entries []entry) []string {
	var list []string
	for _, e := range entries {
		list = append(list, fmt.Sprintf("%d.%d %s", e.Session, e.Line, e.Input))
	}
	return list
}

func open(t testing.TB, path string) *history {
	t.Helper()
	h, err := openHistory(path)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func record(t testing.TB, h *history, line int, input string) {
	t.Helper()
	e := entry{Session: h.sessions[0], Line: line, Input: input}
	h.add(&e)
	if err := h.store(e); err != nil {
		t.Fatal(err)
	}
}

func TestHistoryQueries(t *testing.T) {
	path := filepath.Join(t.TempDir(), "deep", "history.jsonl")
	old := open(t, path)
	record(t, old, 1, "a := 1")
	record(t, old, 2, "b := 2")
	other := open(t, path) // a kernel that runs at the same time
	h := open(t, path)
	record(t, other, 1, "other")
	record(t, h, 1, "a := 1")
	record(t, h, 2, "a := 1")
	record(t, h, 3, "a := 22\n")
	record(t, other, 2, "not seen: read once")
	for name, c := range map[string]struct {
		q    wire.HistoryRequest
		want []string
	}{
		"tail":             {wire.HistoryRequest{HistAccessType: "tail", N: 2}, []string{"3.2 a := 1", "3.3 a := 22\n"}},
		"long tail":        {wire.HistoryRequest{HistAccessType: "tail", N: 100}, []string{"1.1 a := 1", "1.2 b := 2", "2.1 other", "2.2 not seen: read once", "3.1 a := 1", "3.2 a := 1", "3.3 a := 22\n"}},
		"range":            {wire.HistoryRequest{HistAccessType: "range", Start: 1, Stop: 3}, []string{"3.1 a := 1", "3.2 a := 1"}},
		"range of number":  {wire.HistoryRequest{HistAccessType: "range", Session: 1, Start: 2}, []string{"1.2 b := 2"}},
		"range before":     {wire.HistoryRequest{HistAccessType: "range", Session: -2}, []string{"1.1 a := 1", "1.2 b := 2"}},
		"range of nothing": {wire.HistoryRequest{HistAccessType: "range", Session: 99}, nil},
		"search":           {wire.HistoryRequest{HistAccessType: "search", Pattern: "a*1"}, []string{"1.1 a := 1", "3.1 a := 1", "3.2 a := 1"}},
		"search all":       {wire.HistoryRequest{HistAccessType: "search", N: 1}, []string{"3.3 a := 22\n"}},
		"search newest":    {wire.HistoryRequest{HistAccessType: "search", Pattern: "?*", N: 2}, []string{"3.2 a := 1", "3.3 a := 22\n"}},
		"search unique":    {wire.HistoryRequest{HistAccessType: "search", Pattern: "a*1", Unique: true}, []string{"3.2 a := 1"}},
	} {
		got, err := h.query(c.q, h.sessions[0])
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		equal(t, name, listing(got), c.want)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

// A file is cut to its newest half when it has grown too large, and lines that
// are no entries are passed over.
func TestHistoryFileBounds(t *testing.T) {
	path := filepath.Join(t.TempDir(), "h")
	var b strings.Builder
	for i := range maxHistoryEntries + 1 {
		fmt.Fprintf(&b, `{"s":1,"n":%d,"in":"x%d"}`+"\n", i, i)
	}
	b.WriteString("garbage\n\x00\xff\n{}\n" + `{"s":1,"n":7,"in":"torn`)
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	h := open(t, path)
	equal(t, "session", h.sessions, []int{2})
	record(t, h, 1, "new")
	all, err := h.all()
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "entries", len(all), maxHistoryEntries/2+1)
	equal(t, "newest", listing(all[len(all)-2:]), []string{fmt.Sprintf("1.%d x%d", maxHistoryEntries, maxHistoryEntries), "2.1 new"})
	left, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(left) != 1 {
		t.Errorf("files beside the history: %v, %v", left, err)
	}
	// A torn last line does not swallow the next entry.
	if err := os.WriteFile(path, []byte(`{"s":4,"n":1,"in":"a"}`+"\n"+`{"s":4,"n"`), 0o600); err != nil {
		t.Fatal(err)
	}
	h = open(t, path)
	record(t, h, 1, "b")
	h = open(t, path)
	all, err = h.all()
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "after a torn line", listing(all), []string{"4.1 a", "5.1 b"})
	// A number without a successor is none of ours.
	if err := os.WriteFile(path, []byte(`{"s":4,"n":1,"in":"a"}`+"\n"+`{"s":9223372036854775807,"n":1,"in":"z"}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	equal(t, "session after a number too high", open(t, path).sessions, []int{5})
}

func TestHistorySurvivesRestart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "h")
	for run := range 2 {
		r := start(t, func(c *Config) { c.HistoryPath = path })
		r.run("result 1")
		r.run("print x")
		reply, _ := r.ask(r.shell, "history_request", map[string]any{"hist_access_type": "tail", "n": 3, "output": true})
		want := []string{
			`{"status":"ok","history":[[1,1,["result 1","1"]],[1,2,["print x",null]]]}`,
			`{"status":"ok","history":[[1,2,["print x",null]],[2,1,["result 1","1"]],[2,2,["print x",null]]]}`,
		}
		equal(t, "history", string(reply.Content), want[run])
		r.close()
	}
}

// A kernel whose history file cannot be used works, and remembers its own run.
func TestHistoryWithoutFile(t *testing.T) {
	r := start(t, func(c *Config) { c.HistoryPath = "/dev/null/history" })
	r.run("result 1")
	reply, _ := r.ask(r.shell, "history_request", map[string]any{"hist_access_type": "tail", "n": 3})
	equal(t, "history", string(reply.Content), `{"status":"ok","history":[[1,1,"result 1"]]}`)
}

// A long result is shortened.
func TestHistoryOutput(t *testing.T) {
	h := open(t, "")
	long := strings.Repeat("é", maxHistoryOutput)
	h.add(&entry{Session: 1, Line: 1, Input: "x", Output: &long})
	all, err := h.all()
	if err != nil || *all[0].Output != strings.Repeat("é", maxHistoryOutput/2)+"…" {
		t.Errorf("%d bytes, %v", len(*all[0].Output), err)
	}
}

func TestGlob(t *testing.T) {
	for _, c := range []struct {
		pattern, text string
		want          bool
	}{
		{"", "", true}, {"", "a", false}, {"*", "", true}, {"*", "abc\nd", true}, {"a*", "ba", false},
		{"*b*", "abc", true}, {"a?c", "abc", true}, {"a?c", "ac", false}, {"?", "é", true},
		{"[abc]", "b", true}, {"[a-c]x", "bx", true}, {"[a-c]", "d", false}, {"[^a-c]", "d", true}, {"[!a]", "a", false},
		{"[", "[", true}, {"[a", "[a", true}, {"a[]]", "a]", false}, {"**a**", "a", true}, {"*a*b*c", "xaxbxc", true},
		{strings.Repeat("*a", 50) + "b", strings.Repeat("a", 5000), false},
	} {
		if got := glob(c.pattern, c.text); got != c.want {
			t.Errorf("glob(%q, %q) = %v", c.pattern, c.text, got)
		}
	}
}

func FuzzGlob(f *testing.F) {
	f.Add("a*[b-c]?", "abc")
	f.Add("[", "[")
	f.Add("*", "\xff")
	f.Fuzz(func(t *testing.T, pattern, text string) {
		if !strings.ContainsAny(pattern, "*?[") && glob(pattern, text) != (string([]rune(pattern)) == string([]rune(text))) {
			t.Errorf("a literal pattern %q matches %q wrongly", pattern, text)
		}
		if !glob("*", text) {
			t.Errorf("* does not match %q", text)
		}
		glob(pattern, text)
	})
}

func FuzzHistoryFile(f *testing.F) {
	f.Add([]byte(`{"s":1,"n":1,"in":"a"}` + "\n"))
	f.Add([]byte("{\n\n}\x00"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		path := filepath.Join(t.TempDir(), "h")
		if err := os.WriteFile(path, raw, 0o600); err != nil {
			t.Fatal(err)
		}
		h := open(t, path)
		record(t, h, 1, "mine")
		all, err := open(t, path).all()
		if err != nil || len(all) == 0 || all[len(all)-1].Input != "mine" {
			t.Errorf("the newest entry is lost: %v, %v", all, err)
		}
	})
}
