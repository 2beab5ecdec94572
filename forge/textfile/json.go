package textfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
)

// excerpt is how much of a text an error repeats, in bytes.
const excerpt = 40

// JSONError words an error of encoding/json about a content for the person who wrote it:
// where it is, and what stands there. Other errors stay as they are.
func JSONError(content []byte, err error) error {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case err == nil:
		return nil
	case len(bytes.TrimSpace(content)) == 0:
		return errors.New("it is empty")
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("its JSON ends too early")
	case errors.As(err, &syntax):
		at := max(syntax.Offset-1, 0)
		if at >= int64(len(content)) || strings.HasPrefix(syntax.Error(), "unexpected end") {
			return errors.New("its JSON ends too early")
		}
		return fmt.Errorf("line %d is not JSON: %s", line(content, at), quoted(content[at:]))
	case errors.As(err, &kind):
		where := fmt.Sprintf("line %d", line(content, kind.Offset-1))
		if kind.Field != "" {
			where += ", " + kind.Field
		}
		return fmt.Errorf("%s: %s stands where %s belongs", where, called(kind.Value), wanted(kind.Type))
	}
	if name, unknown := strings.CutPrefix(err.Error(), "json: unknown field "); unknown {
		return fmt.Errorf("there is no field %s", name)
	}
	return err
}

// line is the number of the line that a byte is in, from 1.
func line(content []byte, at int64) int {
	return 1 + bytes.Count(content[:min(max(at, 0), int64(len(content)))], []byte("\n"))
}

// quoted is the beginning of a text, on one line.
func quoted(text []byte) string {
	s := strings.Join(strings.Fields(string(text[:min(len(text), 4*excerpt)])), " ")
	if len(s) > excerpt {
		s = strings.ToValidUTF8(s[:excerpt], "") + "…"
	}
	return s
}

// called is what JSON calls a kind of value, in words.
func called(value string) string {
	kind, _, _ := strings.Cut(value, " ") // what follows is the number itself
	switch kind {
	case "number":
		return "a number"
	case "string":
		return "text"
	case "array":
		return "a list"
	case "object":
		return "an object"
	case "bool":
		return "true or false"
	}
	return kind
}

// wanted is what a type of Go is in JSON, in words.
func wanted(t reflect.Type) string {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.String:
		return "text"
	case reflect.Bool:
		return "true or false"
	case reflect.Slice, reflect.Array:
		return "a list"
	case reflect.Map, reflect.Struct:
		return "an object"
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return "a whole number that is not negative"
	}
	return "a whole number"
}
