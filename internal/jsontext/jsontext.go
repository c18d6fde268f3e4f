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

func parts(data []byte, open json.Delim) ([]Member, error) {
	if !utf8.Valid(data) {
		return nil, errors.New("is not UTF-8")
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	first, err := dec.Token()
	if err != nil {
		return nil, fmt.Errorf("is not JSON: %s", err)
	}
	if first != open {
		return nil, fmt.Errorf("must be %s", map[json.Delim]string{'{': "an object", '[': "an array"}[open])
	}
	var ms []Member
	seen := map[string]bool{}
	for dec.More() {
		m := Member{Key: skip(data, int(dec.InputOffset()))}
		if open == '{' {
			name, err := dec.Token()
			if err != nil {
				return nil, fmt.Errorf("is not JSON: %s", err)
			}
			m.Name, _ = name.(string)
			if seen[m.Name] {
				return nil, fmt.Errorf("%q: %w", m.Name, ErrRepeated)
			}
			seen[m.Name] = true
		}
		if err := dec.Decode(&m.Value); err != nil {
			return nil, fmt.Errorf("is not JSON: %s", err)
		}
		m.End = int(dec.InputOffset())
		m.Start = m.End - len(m.Value)
		ms = append(ms, m)
	}
	if _, err := dec.Token(); err != nil {
		return nil, fmt.Errorf("is not JSON: %s", err)
	}
	if rest := bytes.TrimLeft(data[dec.InputOffset():], " \t\r\n"); len(rest) > 0 {
		return nil, errors.New("is not JSON: something follows the value")
	}
	return ms, nil
}

// skip passes over blanks and the comma before a member.
func skip(data []byte, at int) int {
	for at < len(data) && bytes.IndexByte([]byte(" \t\r\n,"), data[at]) >= 0 {
		at++
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
	var s string
	if len(raw) == 0 || raw[0] != '"' {
		return "", errors.New("must be a string")
	}
	if err := json.Unmarshal(raw, &s); err != nil {
		return "", fmt.Errorf("must be a string: %s", err)
	}
	return s, nil
}

// Strings decodes an array of strings and nothing else.
func Strings(raw json.RawMessage) ([]string, error) {
	var list []any
	if len(raw) == 0 || raw[0] != '[' || json.Unmarshal(raw, &list) != nil {
		return nil, errors.New("must be an array of strings")
	}
	out := make([]string, 0, len(list))
	for _, v := range list {
		s, ok := v.(string)
		if !ok {
			return nil, errors.New("must be an array of strings")
		}
		out = append(out, s)
	}
	return out, nil
}
