package cell

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestWriteFileAndLoad(t *testing.T) {
	n := newNotebook(t)
	t.Chdir(t.TempDir())
	steps := []struct{ code, printed, text string }{
		{"%%writefile notes.txt\nfirst\n\n%who", "Wrote notes.txt\n", "first\n\n%who\n"},
		{"%%writefile -a notes.txt\nsecond\n", "Appended to notes.txt\n", "first\n\n%who\nsecond\n"},
		{"%%writefile notes.txt\n", "Overwrote notes.txt\n", ""},
		{"%%writefile -a 'notes.txt'\n  third", "Appended to notes.txt\n", "  third\n"},
	}
	for _, s := range steps {
		if printed, _ := n.ok(t, s.code); printed != s.printed {
			t.Errorf("%q printed %q, want %q", s.code, printed, s.printed)
		}
		if text, err := os.ReadFile("notes.txt"); err != nil || string(text) != s.text {
			t.Errorf("after %q the file holds %q, %v; want %q", s.code, text, err, s.text)
		}
	}
	_, out, _ := n.run(t, "%load notes.txt")
	if len(out.Payload) != 1 || out.Payload[0].Source != "set_next_input" || out.Payload[0].Text != "  third\n" || !out.Payload[0].Replace {
		t.Errorf("payload %+v", out.Payload)
	}
	if left, _ := filepath.Glob(".*"); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

func TestWriteFileKeepsModeAndLinks(t *testing.T) {
	n := newNotebook(t)
	t.Chdir(t.TempDir())
	if err := os.WriteFile("run.sh", []byte("old"), 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("run.sh", "link"); err != nil {
		t.Fatal(err)
	}
	n.ok(t, "%%writefile link\nnew")
	info, err := os.Lstat("run.sh")
	if err != nil || info.Mode() != 0o750 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if text, _ := os.ReadFile("run.sh"); string(text) != "new\n" {
		t.Errorf("text %q", text)
	}
	if info, err := os.Lstat("link"); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link became %v, %v", info.Mode(), err)
	}
}

func TestFileErrors(t *testing.T) {
	n := newNotebook(t)
	t.Chdir(t.TempDir())
	os.WriteFile("binary", []byte{0xff, 0xfe, 0}, 0o600)
	os.WriteFile("large", make([]byte, maxLoad+1), 0o600)
	os.Mkdir("directory", 0o700)
	for _, c := range []struct{ code, want string }{
		{"%load missing", "no such file"},
		{"%load binary", "save it as UTF-8"},
		{"%load large", "at most 1048576 are read"},
		{"%load directory", "it is a folder"},
		{"%%writefile directory\nx", "not a regular file"},
		{"%%writefile no/such/dir\nx", "no such file"},
		{"%%writefile -a directory\nx", "is a directory"},
	} {
		if _, _, e := n.run(t, c.code); e == nil || !strings.Contains(e.Value, c.want) {
			t.Errorf("%q: error %+v, want %q", c.code, e, c.want)
		}
	}
}

// A script that is longer than an argument of a command may be runs all the same.
func TestLongScripts(t *testing.T) {
	n := newNotebook(t)
	padding := strings.Repeat("# padding\n", 20_000)
	printed, _, failure := n.run(t, "%%bash one\n"+padding+"echo $1 $LINENO\nexit 3")
	if want := "one 20002\n"; printed != want || failure == nil || !strings.Contains(failure.Value, "status 3") {
		t.Errorf("printed %q, want %q; %+v", printed, want, failure)
	}
	word := strings.Repeat("x", 200_000)
	if printed, _ := n.ok(t, "!x="+word+"; echo ${#x}"); printed != "200000\n" {
		t.Errorf("a long line printed %q", printed)
	}
}

func TestNoHome(t *testing.T) {
	n := newNotebook(t)
	t.Chdir(t.TempDir())
	t.Setenv("HOME", "")
	for _, code := range []string{"%cd", "%cd ~", "%cd ~/x", "%load ~/x", "%%writefile ~/x\ny"} {
		if _, _, e := n.run(t, code); e == nil || !strings.Contains(e.Value, "cannot expand ~: HOME is not set") {
			t.Errorf("%q: error %+v", code, e)
		}
	}
}
