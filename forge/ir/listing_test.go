package ir_test

import (
	"strings"
	"testing"

	"forgekernel/forge/ir"
	"forgekernel/forge/op"
)

const listed = `graph f(%x: f32[2] @ "a.fs":1:7, %w: f32[2] @ "a.fs":1:10) {
  %a: f32[2] = mul %x, %w @ "a.fs":2:11
  %b: f32[2] = exp %a @ "lib.fs":7:3, @ "a.fs":3:9
  %c: f32[2] = relu %b @ "a.fs":4:9, @ "a.fs":5:9, @ "a.fs":6:9, @ "a.fs":7:9, @ "a.fs":8:9
  %d: f32[2] = elementwise %b, %c (%p: f32[], %q: f32[]) {
    %0: f32[] = add %p, %q @ "a.fs":9:5
    return %0
  } @ "a.fs":9:5
  %e: f32[2] = neg %d
  return %e, %d
}
`

const listing = `graph f(%x: f32[2], %w: f32[2]) {                    # a.fs:1
  %a: f32[2] = mul %x, %w                            # 2:11
  %b: f32[2] = exp %a                                # lib.fs:7:3, 3:9
  %c: f32[2] = relu %b                               # 4:9, 5:9, 6:9, 2 more
  %d: f32[2] = elementwise %b, %c (%p: f32[], %q: f32[]) {
    %0: f32[] = add %p, %q                           # 9:5
    return %0
  }                                                  # 9:5
  %e: f32[2] = neg %d
  return %e, %d
}
`

// The listing names its source once and lines its places up. It is the same
// program to the parser, but for the places.
func TestListing(t *testing.T) {
	name := "elementwise"
	for _, o := range op.Registry.All() {
		if o.Class == ir.Fused {
			name = o.Name
		}
	}
	g, err := ir.Parse(op.Registry, strings.ReplaceAll(listed, "elementwise", name))
	if err != nil {
		t.Fatal(err)
	}
	got := g.Listing()
	if want := strings.ReplaceAll(listing, "elementwise", name); squeeze(got) != squeeze(want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	column := strings.Index(got, "#")
	for _, line := range strings.Split(got, "\n") {
		if i := strings.Index(line, "#"); i >= 0 && i != column {
			t.Errorf("the note of %q is not under the others", line)
		}
	}
	again, err := ir.Parse(op.Registry, got)
	if err != nil {
		t.Fatal(err)
	}
	if again.Listing() != withoutNotes(got) {
		t.Errorf("the listing parses as\n%s", again.Listing())
	}
}

// squeeze replaces runs of blanks inside lines by one.
func squeeze(s string) string {
	var lines []string
	for _, line := range strings.Split(s, "\n") {
		lines = append(lines, strings.Join(strings.Fields(line), " "))
	}
	return strings.Join(lines, "\n")
}

func withoutNotes(s string) string {
	var lines []string
	for _, line := range strings.Split(s, "\n") {
		line, _, _ = strings.Cut(line, "#")
		lines = append(lines, strings.TrimRight(line, " "))
	}
	return strings.Join(lines, "\n")
}

// A long header has a line for each input, a large constant only its spec, and
// no name of a source can leave its comment.
func TestListingOfLongParts(t *testing.T) {
	var params []string
	for _, name := range []string{"activations", "weights", "bias", "residual_stream"} {
		params = append(params, "%"+name+`: f32[128,256] @ "a\nb":1:1`)
	}
	text := "graph f(" + strings.Join(params, ", ") + ") {\n  %y: f32[128,256] = relu %bias @ \"a\\nb\":2:3\n  return %y\n}\n"
	g, err := ir.Parse(op.Registry, text)
	if err != nil {
		t.Fatal(err)
	}
	const want = `graph f(
    %activations: f32[128,256],
    %weights: f32[128,256],
    %bias: f32[128,256],
    %residual_stream: f32[128,256]) {  # a b:1
  %y: f32[128,256] = relu %bias        # 2:3
  return %y
}
`
	if got := g.Listing(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	again, err := ir.Parse(op.Registry, g.String())
	if err != nil || !ir.Equal(again, g) {
		t.Errorf("the exact form: %v", err)
	}
}
