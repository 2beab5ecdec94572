// Package zmtp is the part of ZeroMQ that a Jupyter kernel and its clients
// need: the ROUTER, XPUB and REP patterns for kernels ([ListenRouter],
// [ListenXPub], [ListenEcho]) and DEALER, SUB and REQ for clients
// ([DialDealer], [DialSub], [DialReq]), over tcp and ipc.
//
// zmq4's Conn does the framing and the NULL handshake of ZMTP 3.0. Everything
// around it is here, since peers are untrusted, may stall, and must not be able
// to hold up one another:
//
//   - Each connection has a goroutine that shakes hands under a deadline and
//     then reads, and one that writes. A panic in the library ends that
//     connection only.
//   - A guard below Conn reads frame headers first. It enforces [Limits],
//     lets memory for a large frame grow only with what arrives, and takes
//     commands out: PING is answered with PONG, SUBSCRIBE and CANCEL become
//     subscriptions, others are dropped.
//   - Each peer has a bounded queue of outgoing messages. A message, or several
//     that wait, leaves in one write.
//   - A peer that accepts next to nothing for [Options].StallLimit while
//     something waits for it is disconnected. One that is merely slow never
//     loses a message.
//   - Close sends what is queued, for at most [Options].Linger, and returns when
//     no goroutine is left.
package zmtp
