package escape

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"testing"
)

// readOutputs decodes an output file as the runner does (8-github-facts, row 34).
func readOutputs(file string) (map[string]string, error) {
	outputs := map[string]string{}
	lines := strings.SplitAfter(file, "\n")
	for i := 0; i < len(lines); i++ {
		line := strings.TrimRight(lines[i], "\r\n")
		if line == "" {
			continue
		}
		equals, heredoc := strings.Index(line, "="), strings.Index(line, "<<")
		if equals >= 0 && (heredoc < 0 || equals < heredoc) {
			outputs[line[:equals]] = line[equals+1:]
			continue
		}
		if heredoc < 1 || heredoc+2 == len(line) {
			return nil, fmt.Errorf("line %q", line)
		}
		name, end := line[:heredoc], line[heredoc+2:]
		var value strings.Builder
		for i++; ; i++ {
			if i >= len(lines) || !strings.HasSuffix(lines[i], "\n") {
				return nil, errors.New("no delimiter")
			}
			if strings.TrimRight(lines[i], "\r\n") == end {
				break
			}
			value.WriteString(lines[i])
		}
		outputs[name] = strings.TrimSuffix(value.String(), "\n")
	}
	return outputs, nil
}

func outputHolds(t fataler, s string) {
	var file bytes.Buffer
	for _, entry := range [][2]string{{"first", "1"}, {"verdict", s}, {"last", "3"}} {
		if err := WriteOutput(&file, rand.Reader, entry[0], entry[1]); err != nil {
			t.Fatalf("%v", err)
		}
	}
	got, err := readOutputs(file.String())
	if err != nil || len(got) != 3 || got["first"] != "1" || got["last"] != "3" || got["verdict"] != Block(s) {
		t.Fatalf("%q: %q %v", s, got, err)
	}
	nothingHidden(t, "output", file.String(), "\t\n")
}

func TestWriteOutput(t *testing.T) {
	t.Parallel()
	everywhere(t, outputHolds)
	for _, s := range []string{"", "\n", "a\n", "\n\n", "a=b", "a<<b\nc\nb\n"} {
		outputHolds(t, s)
	}
}

func TestWriteOutputRefusals(t *testing.T) {
	t.Parallel()
	var file bytes.Buffer
	for _, name := range []string{"", "a b", "a=b", "a<<b", "1a", "-a", "a\nb", "é"} {
		if err := WriteOutput(&file, rand.Reader, name, "x"); err == nil {
			t.Errorf("%q was taken as a name", name)
		}
	}
	zeros := bytes.NewReader(make([]byte, 1000))
	if err := WriteOutput(&file, zeros, "a", "gatesworn_"+strings.Repeat("0", 32)); err == nil {
		t.Error("a delimiter that the value holds was used")
	}
	if err := WriteOutput(&file, strings.NewReader("short"), "a", "x"); err == nil {
		t.Error("half a delimiter was used")
	}
	if err := WriteOutput(fullDisk{}, rand.Reader, "a", "x"); !errors.Is(err, errFull) {
		t.Errorf("%v", err)
	}
	if file.Len() != 0 {
		t.Errorf("a refused output was written: %q", file.String())
	}
}

var errFull = errors.New("full")

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errFull }

func FuzzOutput(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, s string) { outputHolds(t, s) })
}
