package forge_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"forgekernel/forge"
	"forgekernel/forge/pass"
)

// chain has something for a few passes and nothing for the others.
const chain = `def chain(x: f32[4,8], y: f32[4,8]):
    a = x * 1.0 + y
    return relu(a) * a
`

func snapshots(t *testing.T) forge.Snapshots {
	t.Helper()
	p, err := forge.Compile(chain)
	if err != nil {
		t.Fatal(err)
	}
	return p.Snapshots()
}

func TestSnapshotsAfter(t *testing.T) {
	s := snapshots(t)
	if got := s.After("simplify"); got.Pass != "simplify" || got.Summary.Nodes != 3 {
		t.Errorf("after simplify: %s with %d operations, want 3", got.Pass, got.Summary.Nodes)
	}
	defer func() {
		var call *forge.CallError
		if err, _ := recover().(error); !errors.As(err, &call) || !strings.Contains(call.Error(), "fuse-elementwise") {
			t.Errorf("a pass that there is not gives %v", err)
		}
	}()
	s.After("fuse")
}

func TestSnapshotsChanged(t *testing.T) {
	var names []string
	for _, x := range snapshots(t).Changed() {
		names = append(names, x.Pass)
	}
	if want := []string{pass.TraceSnapshot, "simplify", "fuse-elementwise"}; !slices.Equal(names, want) {
		t.Errorf("changed by %v, want %v", names, want)
	}
}

func TestSnapshotsDiff(t *testing.T) {
	d := snapshots(t).Diff(pass.TraceSnapshot, "fuse-elementwise")
	if d.Lang != "diff" || !strings.Contains(d.Code, "\n-") || !strings.Contains(d.Code, "\n+") || !strings.HasPrefix(d.Code, "diff after trace after fuse-elementwise\n") {
		t.Errorf("the difference is\n%s", d.Code)
	}
	for line := range strings.Lines(d.Code) { // only what changed is marked, whatever notes stand behind it
		if code, _, noted := strings.Cut(line, "  # "); noted && strings.HasSuffix(code, " ") {
			t.Errorf("a note is not right behind its line: %s", line)
		}
		if strings.HasPrefix(line, "-graph") || strings.HasPrefix(line, "-  return") {
			t.Errorf("a line differs in its notes alone: %s", line)
		}
	}
	if d := snapshots(t).Diff("simplify", "simplify"); d.Code != "" {
		t.Errorf("a snapshot differs from itself:\n%s", d.Code)
	}
}

// Without reuse, the three intermediate values as written have memory of their own.
func TestSnapshotPlan(t *testing.T) {
	trace := snapshots(t).After(pass.TraceSnapshot)
	const one = 4 * 8 * 4
	apart := trace.Plan(forge.PlanOptions{KeepOrder: true, NoReuseInPlace: true})
	if apart.Naive != 3*one || apart.Planned > apart.Naive || trace.Plan(forge.PlanOptions{}).Planned > apart.Planned {
		t.Errorf("planned %d of %d bytes, and %d with all means", apart.Planned, apart.Naive, trace.Plan(forge.PlanOptions{}).Planned)
	}
}
