package textfile

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

func TestJSONError(t *testing.T) {
	type form struct {
		N    int
		Size uint
		X    float64
		Name string
		On   bool
		List []int
		In   struct{ Deep int }
	}
	for text, want := range map[string]string{
		"":                                    "it is empty",
		" \n":                                 "it is empty",
		"[1,":                                 "its JSON ends too early",
		`{"N": `:                              "its JSON ends too early",
		"def f(x):":                           "line 1 is not JSON: def f(x):",
		"{\n\"N\": 1,\n}":                     "line 3 is not JSON: }",
		"{\n \"N\": 'a'}":                     "line 2 is not JSON: 'a'}",
		"{\n \"N\": \"a\"}":                   "line 2, N: text stands where a whole number belongs",
		`{"N": 1.5}`:                          "line 1, N: a number stands where a whole number belongs",
		`{"Size": -1}`:                        "line 1, Size: a number stands where a whole number that is not negative belongs",
		`{"X": []}`:                           "line 1, X: a list stands where a number belongs",
		`{"Name": 7}`:                         "line 1, Name: a number stands where text belongs",
		`{"On": "yes"}`:                       "line 1, On: text stands where true or false belongs",
		`{"List": {}}`:                        "line 1, List: an object stands where a list belongs",
		`{"In": {"Deep": true}}`:              "line 1, In.Deep: true or false stands where a whole number belongs",
		`[]`:                                  "line 1: a list stands where an object belongs",
		`{"M": 1}`:                            `there is no field "M"`,
		"x" + strings.Repeat("long text ", 9): "line 1 is not JSON: xlong text long text long text long text…",
	} {
		for name, err := range map[string]error{"decoder": decoding([]byte(text), new(form)), "unmarshal": json.Unmarshal([]byte(text), new(form))} {
			if err == nil && name == "unmarshal" {
				continue // it takes unknown fields
			}
			if got := JSONError([]byte(text), err); got == nil || got.Error() != want {
				t.Errorf("%s, %q: %v, want %s", name, text, got, want)
			}
		}
	}
	if err := JSONError(nil, nil); err != nil {
		t.Error(err)
	}
}

func decoding(text []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	return d.Decode(into)
}

func FuzzJSONError(f *testing.F) {
	f.Add([]byte(`{"N": "`))
	f.Add([]byte("\xff[1"))
	f.Fuzz(func(t *testing.T, text []byte) {
		var into struct{ N []map[string]int }
		err := decoding(text, &into)
		if got := JSONError(text, err); (got == nil) != (err == nil) || got != nil && strings.Contains(got.Error(), "invalid character") {
			t.Errorf("%q: %v became %v", text, err, got)
		}
	})
}
