package tune

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"forgekernel/forge/backend/cpu"
	"forgekernel/forge/sealed"
)

func sample(t testing.TB) *Record {
	t.Helper()
	l := &lab{shapes: []string{"k", "l"}, times: map[string][]time.Duration{"k": micros(10, 8, 12), "l": micros(5)}, wrong: map[string]bool{"k/2": true}}
	r, err := l.tuner().Tune(t.Context(), nothing)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestRoundTrip(t *testing.T) {
	r := sample(t)
	raw, err := Encode(r)
	if err != nil {
		t.Fatal(err)
	}
	again, err := Decode(raw)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(again, r) {
		t.Errorf("read\n%+v\nwritten\n%+v", again, r)
	}
	if want := (cpu.Schedules{"k": {Rows: 2, Vectors: 1, Width: 4}}); !reflect.DeepEqual(again.Schedules(), want) {
		t.Errorf("the schedules are %v", again.Schedules())
	}
	if want := "cpu-abacus-9-beads-x3-"; !strings.HasPrefix(r.Key, want) || !strings.HasSuffix(r.Key, "-cc-1.2-fen-00c0ffee") {
		t.Errorf("the key is %s", r.Key)
	}
}

// TestDamaged changes records: what does not follow from the samples is refused.
func TestDamaged(t *testing.T) {
	for want, change := range map[string]func(*Record){
		`is "chosen" by its samples, not "slower"`:                  func(r *Record) { r.Kernels[0].Candidates[1].Verdict = Slower },
		"does not follow from its samples":                          func(r *Record) { r.Check.Used = false },
		"samples that are no times":                                 func(r *Record) { r.Kernels[0].Candidates[0].Samples[2] = -1 },
		"was timed and did not pass the gate":                       func(r *Record) { r.Kernels[0].Candidates[0].Gate.Worst = 3 },
		"0 candidates":                                              func(r *Record) { r.Kernels[1].Candidates = nil },
		`by its samples, not "tie"`:                                 func(r *Record) { r.Kernels[0].Candidates[0].Verdict = Tie },
		"the check of the program has no samples":                   func(r *Record) { r.Check.Tuned = nil },
		"nothing was measured, and it does not say why":             func(r *Record) { r.Kernels[1].Note = "" },
		"it has 5000 kernels; there are at most 4096":               func(r *Record) { r.Kernels = make([]Kernel, 5000) },
		`tile=1x1 width=4 is "chosen" by its samples, not "slower"`: func(r *Record) { r.Kernels[0].Candidates[1].Final = r.Kernels[0].Candidates[0].Final },
	} {
		r := sample(t)
		change(r)
		if _, err := Encode(r); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got error %v, want one with %q", err, want)
		}
	}
	raw, err := Encode(sample(t))
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		raw  []byte
		want string
	}{
		"empty":   {nil, "EOF"},
		"cut":     {raw[:len(raw)/2], "unexpected EOF"},
		"number":  {bytes.Replace(raw, []byte(`"flops": 100`), []byte(`"flops": 101`), 1), "SHA-256"},
		"version": {bytes.Replace(raw, []byte(`"version": 1`), []byte(`"version": 9`), 1), "version 9; this program reads"},
		"format":  {bytes.Replace(raw, []byte("forge.tuning"), []byte("forge.turing"), 1), `it is "forge.turing"`},
		"field":   {bytes.Replace(raw, []byte(`"sha256"`), []byte(`"sha257"`), 1), "unknown field"},
		"tail":    {append(bytes.Clone(raw), "{}"...), "something follows"},
	} {
		if _, err := Decode(c.raw); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got error %v, want one with %q", name, err, c.want)
		}
	}
}

func FuzzDecode(f *testing.F) {
	raw, err := Encode(sample(f))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(raw)
	f.Add([]byte(`{"format":"forge.tuning","version":1,"sha256":"","record":{}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		r, err := Decode(sealed.Reseal(raw)) // the hash guards against accidents; what is behind it must hold as well
		if err != nil {
			return
		}
		again, err := Encode(r)
		if err != nil {
			t.Fatalf("a record that was read is refused: %v", err)
		}
		if s, err := Decode(again); err != nil || !reflect.DeepEqual(r, s) {
			t.Errorf("read\n%+v\nand then\n%+v, %v", r, s, err)
		}
		_ = r.Text()
	})
}

// kept saves a record of this machine for a program of one kernel.
func kept(t *testing.T) (on *cpu.Backend, program []string, path string, r *Record) {
	t.Helper()
	t.Setenv("FORGE_CACHE_DIR", t.TempDir())
	on, program = cpu.New(), []string{"k", "l"}
	m, err := thisMachine(t.Context(), on)
	if err != nil {
		t.Fatal(err)
	}
	r = sample(t)
	r.Machine, r.Key = m, m.key(program)
	if path, err = Save(r); err != nil {
		t.Fatal(err)
	}
	return on, program, path, r
}

func TestLookup(t *testing.T) {
	on, program, path, r := kept(t)
	found, err := Lookup(t.Context(), on, program)
	if err != nil || !reflect.DeepEqual(found, r) {
		t.Errorf("found %+v, %v", found, err)
	}
	if found, err := Lookup(t.Context(), on, []string{"l", "k"}); found != nil || err != nil {
		t.Errorf("another program has the record %+v, %v", found, err)
	}
	for _, change := range []func(*cpu.Backend){
		func(b *cpu.Backend) { b.Target.Name = "abacus" },
		func(b *cpu.Backend) { b.Threads++ },
	} {
		other := *on
		change(&other)
		if found, err := Lookup(t.Context(), &other, program); found != nil || err != nil {
			t.Errorf("%s with %d threads has the record %+v, %v", other.Target.Name, other.Threads, found, err)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), "*")); len(left) != 1 {
		t.Errorf("the folder holds %v", left)
	}
}

// TestIgnored puts records that are damaged or another's in the place of a good one.
func TestIgnored(t *testing.T) {
	on, program, path, r := kept(t)
	encode := func(change func(*Record)) []byte {
		s := *r
		change(&s)
		raw, err := Encode(&s)
		if err != nil {
			t.Fatal(err)
		}
		return raw
	}
	for want, raw := range map[string][]byte{
		"unexpected EOF":               encode(func(*Record) {})[:100],
		`it is that of "cpu-other"`:    encode(func(r *Record) { r.Key = "cpu-other" }),
		`the program has no kernel "m`: encode(func(r *Record) { r.Kernels = []Kernel{r.Kernels[0]}; r.Kernels[0].Shape = "m" }),
		"has no vectors of 5 floats": encode(func(r *Record) {
			k := r.Kernels[0]
			k.Candidates = append([]Candidate{}, k.Candidates...)
			k.Candidates[1].Schedule = cpu.Schedule{Width: 5}
			r.Kernels = []Kernel{k}
		}),
	} {
		if err := os.WriteFile(path, raw, 0o600); err != nil {
			t.Fatal(err)
		}
		found, err := Lookup(t.Context(), on, program)
		if found != nil || err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "is ignored") {
			t.Errorf("found %v and error %v, want one with %q", found, err, want)
		}
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := Lookup(t.Context(), on, program); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("a folder in place of the record: %v", err)
	}
}

func TestSlug(t *testing.T) {
	for text, want := range map[string]string{
		"AMD EPYC 9B45 128-Core": "amd-epyc-9b45-128-core", "Intel(R) Xeon(R) @ 2.20GHz": "intel-r-xeon-r-2.20ghz",
		"../../etc": "etc", "": "", "a b c d e f g h i j k l m n o p q r s t u v w": "a-b-c-d-e-f-g-h-i-j-k-l-m-n-o-p-q-r-s-t",
	} {
		if got := slug(text); got != want {
			t.Errorf("slug of %q is %q, not %q", text, got, want)
		}
	}
}

// TestSummaryPeak sees that the share of the peak is that of as many cores as share the work.
func TestSummaryPeak(t *testing.T) {
	r := &Record{Peak: 100e9, Kernels: []Kernel{{Shape: "k", FLOPs: 1_500_000, Candidates: []Candidate{{Samples: []float64{10e-6}, Verdict: Chosen}}}}}
	for threads, want := range map[int]string{0: "of a core's peak 150", 1: "of a core's peak 150", 2: "of the peak of 2 cores 75"} {
		r.Machine.Threads = threads
		s := r.Summary()
		if got := fmt.Sprintf("%s %.4g", s.Columns[6].Name, s.Rows[0][6]); got != want {
			t.Errorf("on %d threads the share is %q, want %q", threads, got, want)
		}
	}
}
