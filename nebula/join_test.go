package nebula

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"forgekernel/nebula/launch"
)

// joinCommand makes the test binary a rank of a launcher's job.
var joinCommand = []string{"join"}

// joined is what every rank of a launcher does.
func joined(r *launch.Rank) error {
	m := Seeded(TinyDecoder(), 3)
	j, err := Join(r.Context(), r, m, small(TP(2))...)
	if j == nil {
		return err
	}
	c, err := j.Run(r.Context(), "hello", MaxTokens(6))
	fmt.Println(c.Tokens, j.Status().State, err)
	return j.Close()
}

// TestJoin is the launcher of two ranks.
func TestJoin(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var out [2]bytes.Buffer
	var ranks [2]*exec.Cmd
	for i := range ranks {
		ranks[i] = exec.CommandContext(t.Context(), self, joinCommand...)
		ranks[i].Env = append(os.Environ(), fmt.Sprint("NEBULA_RANK=", i), "NEBULA_SIZE=2", "NEBULA_LOCAL_SIZE=2", fmt.Sprint("NEBULA_LOCAL_RANK=", i),
			fmt.Sprint("NEBULA_JOB=face-", os.Getpid()), "NEBULA_TOKEN=a token of the test")
		ranks[i].Stdout, ranks[i].Stderr = &out[i], &out[i]
		if err := ranks[i].Start(); err != nil {
			t.Fatal(err)
		}
	}
	for i, r := range ranks {
		if err := r.Wait(); err != nil {
			t.Errorf("rank %d: %v\n%s", i, err, out[i].String())
		}
	}
	want, err := begin(t).Run(t.Context(), "hello", MaxTokens(6))
	if err != nil {
		t.Fatal(err)
	}
	// On a slow machine progress comes before it.
	if got, text := out[0].String(), fmt.Sprintln(want.Tokens, "healthy", nil); !strings.HasSuffix("\n"+got, "\n"+text) || strings.TrimSpace(out[1].String()) != "" {
		t.Errorf("rank 0 says %q, not %q; rank 1 says %q", got, text, out[1].String())
	}
	if _, err := Join(t.Context(), &launch.Rank{}, Seeded(TinyDecoder(), 3), Replicas(2)); err == nil {
		t.Error("replicas within a launcher's job")
	}
}
