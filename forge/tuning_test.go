package forge_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"forgekernel/display"
	"forgekernel/forge"
	"forgekernel/forge/tune"
)

const product = "def f(x: f32[5, 9], w: f32[9, 11]): return relu(x @ w)\n"

// quick bounds the measuring of these tests: one kernel, as few rounds as there are.
var quick = forge.TuneOptions{Budget: time.Millisecond}

func native(t *testing.T) *forge.Program {
	t.Helper()
	p, err := forge.Compile(product, forge.OnBackend("cpu"))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// recordFile is the one record in the cache.
func recordFile(t *testing.T, dir string) string {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(dir, "tune", "cpu-*.json"))
	if err != nil || len(list) != 1 {
		t.Fatalf("the records are %v, %v", list, err)
	}
	return list[0]
}

// TestTune measures a program, keeps what was found and compiles with it.
func TestTune(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("FORGE_CACHE_DIR", dir)
	p := native(t)
	if p.Tuning() != nil {
		t.Fatal("a program that nobody tuned is tuned")
	}
	r, err := p.TuneContext(t.Context(), quick)
	if err != nil {
		t.Fatal(err)
	}
	if k := r.Kernels[0]; k.Note != "" || len(k.Candidates) < 3 || k.Candidates[0].Count() < 20 {
		t.Fatalf("nothing was measured: %+v", k)
	}
	if p.Tuning() == nil || native(t).Tuning() == nil {
		t.Error("the record is not used")
	}
	if text, _ := display.ToBundle(r).Data["text/plain"].(string); !strings.Contains(text, "chosen") || !strings.Contains(text, "5x11x9") {
		t.Errorf("the record shows itself as %s", text)
	}
	again, err := p.Retry(t.Context(), quick, r)
	if err != nil || len(again.Kernels) != 1 || again.Kernels[0].Chosen != r.Kernels[0].Chosen().Schedule {
		t.Errorf("measured again: %+v, %v", again, err)
	}
	chooseAnother(t, r)
	p = native(t)
	e := p.Explain()
	if why := e.Kernels[0].Reason; !strings.Contains(why, "; tuned: form=tiles tile=") {
		t.Errorf("the kernel is told to be %s", why)
	}
	if text := e.Text(false); !strings.Contains(text, "\nTuning  ") || !strings.Contains(text, "times as fast") {
		t.Errorf("the explanation is %s", text)
	}
	if check := p.Check(); !check.OK() {
		t.Errorf("the tuned program errs: %+v", check)
	}
}

// chooseAnother makes a record in which the last candidate won.
func chooseAnother(t *testing.T, r *forge.Tuning) {
	t.Helper()
	k := &r.Kernels[0]
	last := len(k.Candidates) - 1
	for i := range k.Candidates {
		c := &k.Candidates[i]
		c.Samples, c.Again, c.Final, c.Verdict = []float64{2e-6}, nil, nil, tune.Slower
	}
	k.Candidates[0].Final = []float64{2e-6}
	k.Candidates[last].Samples, k.Candidates[last].Final, k.Candidates[last].Verdict = []float64{1e-6}, []float64{1e-6}, tune.Chosen
	r.Check = &tune.Check{Default: []float64{3e-6}, Tuned: []float64{2e-6}, Used: true}
	if _, err := tune.Save(r); err != nil {
		t.Fatal(err)
	}
}

// TestDamagedTuning leaves a record that cannot be read out, and says so.
func TestDamagedTuning(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("FORGE_CACHE_DIR", dir)
	if _, err := native(t).TuneContext(t.Context(), quick); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(recordFile(t, dir), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	p := native(t)
	e := p.Explain()
	said := strings.Join(strings.Fields(e.Text(false)), " ") // its lines break
	if p.Tuning() != nil || !strings.Contains(e.TuningIgnored, "is ignored: unexpected EOF") || !strings.Contains(said, e.TuningIgnored) {
		t.Errorf("the tuning is %v, the explanation says %q", p.Tuning(), e.TuningIgnored)
	}
}

// TestTuneDefault tunes a program that the default backend would not compile as C,
// and wants the record used from then on, by this program and the next.
func TestTuneDefault(t *testing.T) {
	t.Setenv("FORGE_CACHE_DIR", t.TempDir())
	compiled := func() *forge.Program {
		p, err := forge.Compile(product)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	p := compiled()
	if note := p.Notes()[0]; !strings.HasPrefix(note, "Backend portable was picked") {
		t.Fatalf("before: %s", note)
	}
	r, err := p.TuneContext(t.Context(), quick)
	if err != nil {
		t.Fatal(err)
	}
	// Whether this program runs tuned is what the measurement says; the next one
	// finds a record that says so.
	used := r.Check != nil && r.Check.Used
	chooseAnother(t, r)
	next := compiled()
	if err := next.Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	tuned := []*forge.Program{next}
	if used {
		tuned = append(tuned, p)
	}
	for _, p := range tuned {
		e := p.Explain()
		if note := p.Notes()[0]; p.Tuning() == nil || e.Tuning == nil || !strings.Contains(note, "tiered was picked: its kernels have been tuned") {
			t.Errorf("the tuning is %v, explained as %v; %s", p.Tuning(), e.Tuning, note)
		}
	}
	if why := next.Explain().Kernels[0].Reason; !strings.Contains(why, "; tuned: form=tiles tile=") {
		t.Errorf("the kernel is told to be %s", why)
	}
	if check := next.Check(); !check.OK() {
		t.Errorf("the tuned program errs: %+v", check)
	}
}

func TestTuneByNone(t *testing.T) {
	p, err := forge.Compile(product, forge.OnBackend("interp"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.View(t.Context(), "tune"); err == nil || err.Error() != "the backend interp has no schedules to tune; auto, tiered and cpu have, and cuda has kernels to choose" {
		t.Errorf("got error %v", err)
	}
}
