// Package wire is the Jupyter messaging protocol, version 5.5, as bytes: it
// turns the frames of a ZeroMQ message into a [Message] and back, signs and
// verifies them, and names the content of every message type the workbench
// sends or understands.
//
// A message travels as
//
//	identity*  <IDS|MSG>  signature  header  parent_header  metadata  content  buffer*
//
// The signature is HMAC-SHA256 over the four JSON frames exactly as they
// travel. Nothing that was received is therefore decoded and encoded again
// before it is checked, and a reply embeds the bytes of the request's header
// unchanged, so that a client finds in parent_header what it sent.
//
// Everything received is untrusted: [Signer.Parse] returns an error that wraps
// one of the package's error values and never panics.
package wire
