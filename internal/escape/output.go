package escape

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"
)

// draws bounds the search for a delimiter; with 128 random bits the first one is free.
const draws = 8

// WriteOutput writes one entry of a GITHUB_OUTPUT file in a single Write:
// name<<D, the value made safe as in Block, D. The delimiter D has 128 bits of random (crypto/rand.Reader) and is checked
// to be absent from the value, so that a value cannot end itself and set another
// output, as it can with a fixed delimiter. Names are [A-Za-z_][A-Za-z0-9_-]*.
func WriteOutput(w io.Writer, random io.Reader, name, value string) error {
	if !outputName(name) {
		return fmt.Errorf("write output %q: the name is not of the form [A-Za-z_][A-Za-z0-9_-]*", name)
	}
	value = Block(value)
	d, err := delimiter(random, value)
	if err != nil {
		return fmt.Errorf("write output %q: %w", name, err)
	}
	if _, err := io.WriteString(w, name+"<<"+d+"\n"+value+"\n"+d+"\n"); err != nil {
		return fmt.Errorf("write output %q: %w", name, err)
	}
	return nil
}

func delimiter(random io.Reader, value string) (string, error) {
	var bits [16]byte
	for range draws {
		if _, err := io.ReadFull(random, bits[:]); err != nil {
			return "", fmt.Errorf("draw a delimiter: %w", err)
		}
		if d := "gatesworn_" + hex.EncodeToString(bits[:]); !strings.Contains(value, d) {
			return d, nil
		}
	}
	return "", errors.New("no delimiter that the value does not contain: is the source random?")
}

func outputName(s string) bool {
	for i := range len(s) {
		c := s[i]
		letter := c == '_' || 'a' <= c|0x20 && c|0x20 <= 'z'
		if !letter && (i == 0 || c != '-' && (c < '0' || c > '9')) {
			return false
		}
	}
	return s != ""
}
