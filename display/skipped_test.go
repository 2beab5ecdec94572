package display

import (
	"strings"
	"testing"
)

func TestSkipped(t *testing.T) {
	b := Skipped("no GPU <here>")
	if b.Data["text/plain"] != "skipped: no GPU <here>" || !strings.Contains(b.Data["text/html"].(string), "no GPU &lt;here&gt;") {
		t.Errorf("forms %v", b.Data)
	}
	if v, ok := b.Data[SkippedType].(map[string]any); !ok || v["reason"] != "no GPU <here>" {
		t.Errorf("mark %v", b.Data[SkippedType])
	}
}
