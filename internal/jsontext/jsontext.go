// Package jsontext takes JSON text apart without losing it: the members of an
// object in their order with the place of each in the text.
//
// It promises that what it returns was there exactly once (a repeated name is an
// error; encoding/json keeps the last), that names are compared exactly
// (encoding/json folds case), that text which is not UTF-8 is refused (encoding/json
// replaces it), and that Text is compatible with JavaScript's JSON.stringify for
// text without lone surrogates. It imports nothing of ours; anyone may import it.
package jsontext

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"
)

// Member is one member of an object or, without a name, one element of an array.
// Its value is part of the text it was read from.
type Member struct {
	Name  string
	Value json.RawMessage
	// Key, Start and End are byte offsets in the text: where the name begins (equal
	// to Start in an array), where the value begins and where it ends.
	Key, Start, End int
}

// ErrRepeated says that an object names a member twice.
var ErrRepeated = errors.New("member is there twice")

// Object returns the members of the object that is the whole of data.
func Object(data []byte) ([]Member, error) { return parts(data, '{') }

// Array returns the elements of the array that is the whole of data.
func Array(data []byte) ([]Member, error) { return parts(data, '[') }

func parts(data []byte, open byte) ([]Member, error) {
	if !utf8.Valid(data) {
		return nil, errors.New("is not UTF-8")
	}
	// After this the text is one JSON value and blanks, and can be walked without doubt.
	if !json.Valid(data) {
		return nil, fmt.Errorf("is not JSON: %s", json.Unmarshal(data, new(json.RawMessage)))
	}
	at := blanks(data, 0)
	if data[at] != open {
		return nil, fmt.Errorf("must be %s", map[byte]string{'{': "an object", '[': "an array"}[open])
	}
	var ms []Member
	seen := map[string]bool{}
	for at = blanks(data, at+1); data[at] != '}' && data[at] != ']'; {
		m := Member{Key: at, Start: at}
		if open == '{' {
			end := value(data, at)
			name, err := unquote(data[at:end])
			if err != nil {
				return nil, fmt.Errorf("is not JSON: %s", err)
			}
			if seen[name] {
				return nil, fmt.Errorf("%q: %w", name, ErrRepeated)
			}
			seen[name] = true
			m.Name = name
			m.Start = blanks(data, blanks(data, end)+1) // behind the colon
		}
		m.End = value(data, m.Start)
		m.Value = json.RawMessage(data[m.Start:m.End:m.End])
		ms = append(ms, m)
		if at = blanks(data, m.End); data[at] == ',' {
			at = blanks(data, at+1)
		}
	}
	return ms, nil
}

// blanks passes over white space.
func blanks(data []byte, at int) int {
	for at < len(data) && (data[at] == ' ' || data[at] == '\t' || data[at] == '\r' || data[at] == '\n') {
		at++
	}
	return at
}

// value is where the value that begins at at ends, in text that is valid JSON.
func value(data []byte, at int) int {
	depth := 0
	for ; at < len(data); at++ {
		switch data[at] {
		case '"':
			for at++; data[at] != '"'; at++ {
				if data[at] == '\\' {
					at++
				}
			}
		case '{', '[':
			depth++
			continue
		case '}', ']':
			if depth == 0 { // of what holds a number or word
				return at
			}
			depth--
		case ' ', '\t', '\r', '\n', ',', ':':
			if depth == 0 {
				return at
			}
			continue
		default: // part of a number or word, which ends before one of the above
			continue
		}
		if depth == 0 {
			return at + 1
		}
	}
	return at
}

// Text renders a value as JSON.stringify(value, null, 2) does, without a final newline.
func Text(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return separators(bytes.TrimSuffix(b.Bytes(), []byte("\n"))), nil
}

// separators undoes encoding/json's escapes of U+2028 and U+2029, and its
// spellings of backspace and form feed are JavaScript's already.
func separators(text []byte) []byte {
	out := make([]byte, 0, len(text))
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' || i+1 >= len(text) {
			out = append(out, text[i])
			continue
		}
		if i+5 < len(text) && (string(text[i:i+6]) == `\u2028` || string(text[i:i+6]) == `\u2029`) {
			out = utf8.AppendRune(out, 0x2020+rune(text[i+5]-'0'))
			i += 5
			continue
		}
		out = append(out, text[i], text[i+1])
		i++
	}
	return out
}

// String decodes a JSON string and nothing else.
func String(raw json.RawMessage) (string, error) {
	if len(raw) == 0 || raw[0] != '"' {
		return "", errors.New("must be a string")
	}
	var s string
	if err := json.Unmarshal(raw, &s); err != nil {
		return "", fmt.Errorf("must be a string: %s", err)
	}
	return s, nil
}

// unquote is String for what is known to be a JSON string: most hold no escape.
func unquote(raw json.RawMessage) (string, error) {
	if bytes.IndexByte(raw, '\\') < 0 {
		return string(raw[1 : len(raw)-1]), nil
	}
	return String(raw)
}

// Strings decodes an array of strings and nothing else.
func Strings(raw json.RawMessage) ([]string, error) {
	list, err := Array(raw)
	if err != nil {
		return nil, errors.New("must be an array of strings")
	}
	out := make([]string, len(list))
	for i, m := range list {
		if m.Value[0] != '"' {
			return nil, errors.New("must be an array of strings")
		}
		if out[i], err = unquote(m.Value); err != nil {
			return nil, err
		}
	}
	return out, nil
}
