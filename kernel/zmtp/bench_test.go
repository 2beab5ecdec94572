package zmtp

import (
	"context"
	"testing"
)

func eachTransportBench(b *testing.B, bench func(b *testing.B, endpoint string)) {
	for _, transport := range []string{"tcp", "ipc"} {
		b.Run(transport, func(b *testing.B) { bench(b, newEndpoint(b, transport)) })
	}
}

// BenchmarkRouterEcho is one round trip of a small request between a DEALER
// and a ROUTER in one process.
func BenchmarkRouterEcho(b *testing.B) {
	eachTransportBench(b, func(b *testing.B, endpoint string) {
		r := newRouter(b, endpoint, Options{})
		echo(b, r)
		d := newDealer(b, r.Endpoint(), "")
		ctx := context.Background()
		frames := byteFrames([]string{"<IDS|MSG>", "signature", "header", "parent", "metadata", "content"})
		b.ReportAllocs()
		for b.Loop() {
			if err := d.Send(ctx, frames...); err != nil {
				b.Fatal(err)
			}
			if _, err := d.Recv(ctx); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkXPub is the time for which one message occupies a publisher and its
// subscriber.
func BenchmarkXPub(b *testing.B) {
	for _, size := range []struct {
		name  string
		bytes int
	}{{"100B", 100}, {"64KiB", 64 << 10}} {
		b.Run(size.name, func(b *testing.B) {
			eachTransportBench(b, func(b *testing.B, endpoint string) {
				x := newXPub(b, endpoint, Options{})
				s := newSub(b, x.Endpoint(), "")
				wantEvent(b, x, "", false)
				ctx := context.Background()
				body := make([]byte, size.bytes)
				b.SetBytes(int64(size.bytes))
				b.ReportAllocs()
				b.ResetTimer()
				go func() {
					for range b.N {
						if err := x.Publish(ctx, []byte("topic"), body); err != nil {
							b.Error(err)
							return
						}
					}
				}()
				for range b.N {
					if _, err := s.Recv(ctx); err != nil {
						b.Fatal(err)
					}
				}
			})
		})
	}
}
