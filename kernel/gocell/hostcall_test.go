package gocell

import (
	"runtime/debug"
	"testing"
)

// The words of a call are integers for a moment, and what they point to must
// outlive it: strings, slices, structs and interfaces that nothing else holds are
// passed and returned on several goroutines while the collector runs all the
// time and stacks grow inside of what was called.
func TestCallsWhileCollecting(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(1))
	s, _ := newTestSession(t, Options{})
	mustRun(t, s, `func check(seed, rounds int) (wrong string) {
	for i := range rounds {
		n := seed*rounds + i
		text := strings.Repeat(strconv.Itoa(n)+",", 40)
		if parts := strings.Split(text, ","); len(parts) != 41 || parts[39] != strconv.Itoa(n) { return "split " + text }
		if _, after, ok := strings.Cut(text, ","); !ok || len(after) != len(text)-len(strconv.Itoa(n))-1 { return "cut " + text }
		if _, err := strconv.Atoi(text); err == nil || !strings.Contains(err.Error(), text) { return "error " + text }
		if got := fmt.Sprintf("%d %s %v", n, text, []int{n}); got != strconv.Itoa(n)+" "+text+" ["+strconv.Itoa(n)+"]" { return got }
		var b bytes.Buffer
		if k, err := b.WriteString(text); k != len(text) || err != nil || b.String() != text { return "buffer " + text }
		if all, err := io.ReadAll(io.LimitReader(&b, 5)); err != nil || string(all) != text[:5] { return "reader " + text }
		if d := time.Unix(int64(n), 0).Add(time.Hour).Sub(time.Unix(int64(n), 0)); d != time.Hour { return d.String() }
	}
	return ""
}
func deep(n int) string {
	if n == 0 { return "." }
	return strings.Map(func(r rune) rune { return rune(deep(n - 1)[0]) }, strings.Repeat("x", 1))
}`)
	mustRun(t, s, `results := make(chan string)
for seed := range 4 {
	go func() { results <- check(seed, 100) }()
}
for range 4 {
	if wrong := <-results; wrong != "" { panic(wrong) }
}
if got := deep(300); got != "." { panic(got) }`)
}
