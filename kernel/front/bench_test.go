package front

import (
	"fmt"
	"path/filepath"
	"testing"

	"forgekernel/kernel/wire"
)

// BenchmarkExecute is a trivial cell through front and session: to the reply
// and to idle.
func BenchmarkExecute(b *testing.B) {
	r := start(b, func(c *Config) { c.HistoryPath = filepath.Join(b.TempDir(), "history") })
	r.run("result 2")
	for b.Loop() {
		r.run("result 2")
	}
}

// BenchmarkKernelInfo is the part of it that the sockets cost.
func BenchmarkKernelInfo(b *testing.B) {
	r := start(b)
	for b.Loop() {
		r.ask(r.shell, "kernel_info_request", nil)
	}
}

// BenchmarkStart is from nothing to the first kernel_info_reply.
func BenchmarkStart(b *testing.B) {
	for b.Loop() {
		r := launch(b)
		r.send(r.shell, r.message("kernel_info_request", nil))
		r.recv(r.shell)
		r.close()
	}
}

// BenchmarkOutput is printed text from the pipe to a client.
func BenchmarkOutput(b *testing.B) {
	const size = 4 << 20
	r := start(b)
	b.SetBytes(size)
	for b.Loop() {
		m := r.execute(fmt.Sprintf("flood %d", size))
		r.until(m)
		r.recv(r.shell)
	}
}

// BenchmarkPrints is 20,000 lines, a write each.
func BenchmarkPrints(b *testing.B) {
	r := start(b)
	messages := 0
	for b.Loop() {
		m := r.execute("lines 20000")
		for _, o := range r.until(m) {
			if o.Header.MsgType == "stream" {
				messages++
			}
		}
		r.recv(r.shell)
	}
	b.ReportMetric(float64(messages)/float64(b.N), "messages/op")
}

// BenchmarkHop is the extra way between front and session alone: a request and
// its answer.
func BenchmarkHop(b *testing.B) {
	r := start(b)
	r.run("result 1")
	for b.Loop() {
		r.ask(r.shell, "is_complete_request", wire.IsCompleteRequest{Code: "x"})
	}
}
