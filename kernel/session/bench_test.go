package session

import (
	"strconv"
	"testing"
	"time"

	"forgekernel/kernel/link"
)

func benchFront(b *testing.B) *front {
	f, err := startFront()
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		f.conn.Close()
		f.cmd.Wait()
	})
	f.await(func() bool { return f.hello != nil || f.closed })
	return f
}

// BenchmarkCell is a trivial cell from the request to its outcome.
func BenchmarkCell(b *testing.B) {
	f := benchFront(b)
	for _, c := range []struct{ name, code string }{{"go", "1 + 1"}, {"magic", "%cd ."}, {"command", "!true"}} {
		b.Run(c.name, func(b *testing.B) {
			for range b.N {
				if done, ok := f.end(f.begin(c.code)); !ok || done.Error != nil {
					b.Fatalf("alive %v, %+v", ok, done.Error)
				}
			}
		})
	}
}

// BenchmarkDisplay is one display on its way to the front and back.
func BenchmarkDisplay(b *testing.B) {
	f := benchFront(b)
	f.end(f.begin("text := display.Text(\"x\")"))
	f.end(f.begin("show := func(n int) { for range n { display.Show(text) } }"))
	b.ResetTimer()
	if done, ok := f.end(f.begin("show(" + strconv.Itoa(b.N) + ")")); !ok || done.Error != nil {
		b.Fatalf("alive %v, %+v", ok, done.Error)
	}
}

// BenchmarkInterrupt is the time from the request to the end of the cell.
func BenchmarkInterrupt(b *testing.B) {
	for _, c := range []struct{ name, code string }{
		{"loop", "fmt.Println(\"up\")\nfor {}"},
		{"sleep", "fmt.Println(\"up\")\ntime.Sleep(time.Hour)"},
		{"command", "!echo up; exec sleep 1000"},
	} {
		b.Run(c.name, func(b *testing.B) {
			f := benchFront(b)
			var total time.Duration
			for range b.N {
				f.mu.Lock()
				f.transcript = nil
				f.mu.Unlock()
				id := f.begin(c.code)
				f.awaitText("up")
				start := time.Now()
				f.conn.SendBody(link.Interrupt, 0, 0, nil)
				f.end(id)
				total += time.Since(start)
			}
			b.ReportMetric(float64(total.Microseconds())/float64(b.N), "µs/interrupt")
		})
	}
}

// BenchmarkStart is the time from starting the process to its first cell's end.
func BenchmarkStart(b *testing.B) {
	for range b.N {
		f, err := startFront()
		if err != nil {
			b.Fatal(err)
		}
		f.end(f.begin("1 + 1"))
		f.conn.Close()
		f.cmd.Wait()
	}
}
