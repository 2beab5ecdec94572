package nebula

import (
	"os"
	"slices"
	"testing"
	"time"

	"forgekernel/nebula/job"
	"forgekernel/nebula/launch"
)

// TestMain lets the test binary be a rank of the jobs that tests start.
func TestMain(m *testing.M) {
	switch {
	case slices.Equal(os.Args[1:], job.Command):
		asRank(func(r *launch.Rank) error { return job.Attend(r, nil) })
	case slices.Equal(os.Args[1:], joinCommand):
		asRank(joined)
	}
	os.Exit(m.Run())
}

func asRank(be func(*launch.Rank) error) {
	r, err := launch.Attach()
	if err == nil {
		err = be(r)
	}
	if err != nil {
		os.Stderr.WriteString(err.Error() + "\n")
		os.Exit(1)
	}
	os.Exit(0)
}

// small are options of jobs that start at once.
func small(more ...Option) []Option {
	return append([]Option{Backend("portable"), Threads(1), Deadline(5 * time.Second), Context(96), BlockSize(8), Blocks(48), MaxRows(4)}, more...)
}

// begin starts a job of the tiny decoder that ends with the test.
func begin(t *testing.T, opts ...Option) *Job {
	t.Helper()
	return beginWith(t, TinyDecoder(), small(opts...))
}

// beginEndless starts a job whose requests without MaxTokens go on for so long that they
// do not end before something is done about them, on however busy a machine.
func beginEndless(t *testing.T, opts ...Option) *Job {
	t.Helper()
	c := TinyDecoder()
	c.Context = 1 << 14
	return beginWith(t, c, append(small(Context(c.Context), BlockSize(128), Blocks(3*c.Context/128)), opts...))
}

func beginWith(t *testing.T, c Config, opts []Option) *Job {
	t.Helper()
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
	m := Seeded(c, 3)
	j, err := Start(t.Context(), m, opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := j.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
		m.Close()
	})
	return j
}
