package link

import (
	"bytes"
	"encoding/json"
	"errors"
)

// Members splits a JSON object into its members without copying them: displays
// are large. They share raw's memory, which must be valid JSON, as the body of a
// frame is that Recv returned. Of members with one name the last counts.
func Members(raw json.RawMessage) (map[string]json.RawMessage, error) {
	rest := bytes.TrimLeft(raw, space)
	if len(rest) == 0 || rest[0] != '{' {
		return nil, errors.New("not a JSON object")
	}
	members := make(map[string]json.RawMessage)
	for {
		rest = bytes.TrimLeft(rest[1:], space) // after { or ,
		if rest[0] == '}' {
			return members, nil
		}
		end := valueEnd(rest)
		var name string
		if err := json.Unmarshal(rest[:end], &name); err != nil {
			return nil, err
		}
		rest = bytes.TrimLeft(rest[end:], space)
		rest = bytes.TrimLeft(rest[1:], space) // after the colon
		end = valueEnd(rest)
		members[name] = json.RawMessage(rest[:end:end])
		if rest = bytes.TrimLeft(rest[end:], space); rest[0] == '}' {
			return members, nil
		}
	}
}

const space = " \t\r\n"

// valueEnd is the length of the value with which valid JSON begins.
func valueEnd(raw []byte) int {
	depth := 0
	for i := 0; i < len(raw); i++ {
		switch raw[i] {
		case '"':
			i += stringEnd(raw[i:]) - 1
		case '{', '[':
			depth++
			continue
		case '}', ']':
			depth--
		default:
			if depth == 0 { // a number, true, false or null
				if n := bytes.IndexAny(raw[i:], ",]}"+space); n >= 0 {
					return i + n
				}
				return len(raw)
			}
			continue
		}
		if depth == 0 {
			return i + 1
		}
	}
	return len(raw)
}

// stringEnd is the length of the string with which valid JSON begins.
func stringEnd(raw []byte) int {
	for i := 1; i < len(raw); i++ {
		switch raw[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(raw)
}
