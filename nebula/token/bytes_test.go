package token

import (
	"slices"
	"testing"
)

func TestBytes(t *testing.T) {
	text := "a\x00 é\n日\x7f\u00ad"
	ids, err := Bytes().Encode(text, true)
	if err != nil {
		t.Fatal(err)
	}
	var want []int32
	for _, b := range []byte(text) {
		want = append(want, int32(b))
	}
	if !slices.Equal(ids, want) {
		t.Errorf("%v, not %v", ids, want)
	}
	if got := Bytes().Decode(ids, true); got != text {
		t.Errorf("%q", got)
	}
	if n, eos := Bytes().Size(), Bytes().EOS(); n != 256 || len(eos) > 0 {
		t.Errorf("%d tokens, which end with %v", n, eos)
	}
}
