package display

import "html"

// SkippedType is the MIME type by which a program recognises what [Skipped] made.
const SkippedType = "application/vnd.forge.skipped+json"

// Skipped says that a part of a notebook was left out here, and why: "this host has no
// GPU". A reader sees a note in place of a result, and whoever compares two runs of
// the notebook knows that the host is the reason for the difference.
func Skipped(reason string) Bundle {
	return Bundle{Data: map[string]any{
		"text/plain": "skipped: " + reason,
		"text/html": `<div style="border:1px solid #d4a72c;border-left-width:4px;border-radius:4px;background:#fff8c5;color:#1f2328;padding:6px 10px;max-width:60em">` +
			`<b>Skipped.</b> ` + html.EscapeString(reason) + `</div>`,
		SkippedType: map[string]any{"reason": reason},
	}}
}
