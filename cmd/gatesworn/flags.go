package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// errDuplicate is returned for an option given twice: the last one never wins silently.
var errDuplicate = errors.New("duplicate option")

// number is a whole number in plain decimal digits between low and high, given at
// most once. strconv's and pflag's readers take 0x5 and 1_0 as well.
type number struct {
	value, low, high int
	set              bool
}

func (n *number) String() string {
	if n.value == 0 {
		return ""
	}
	return strconv.Itoa(n.value)
}

func (n *number) Type() string { return "N" }

func (n *number) Set(s string) error {
	if n.set {
		return errDuplicate
	}
	v, err := strconv.Atoi(s)
	if err != nil || s[0] < '1' || s[0] > '9' || strings.Trim(s, "0123456789") != "" || v < n.low || v > n.high {
		return fmt.Errorf("needs a whole number from %d to %d in plain digits, not %q", n.low, n.high, s)
	}
	n.value, n.set = v, true
	return nil
}

// text is a non-empty value given at most once.
type text struct {
	value string
	kind  string
	set   bool
}

func (t *text) String() string { return t.value }
func (t *text) Type() string   { return t.kind }

func (t *text) Set(s string) error {
	if t.set {
		return errDuplicate
	}
	if s == "" {
		return errors.New("needs a value")
	}
	t.value, t.set = s, true
	return nil
}

// choice is one of a few words, given at most once.
type choice struct {
	text
	words []string
}

func (c *choice) Set(s string) error {
	for _, w := range c.words {
		if s == w {
			return c.text.Set(s)
		}
	}
	return fmt.Errorf("is one of %s, not %q", strings.Join(c.words, ", "), s)
}

// toggle is a flag without a value, given at most once.
type toggle struct{ on bool }

func (t *toggle) String() string   { return "" }
func (t *toggle) Type() string     { return "bool" }
func (t *toggle) IsBoolFlag() bool { return true }

func (t *toggle) Set(s string) error {
	if s != "true" {
		return errors.New("takes no value")
	}
	if t.on {
		return errDuplicate
	}
	t.on = true
	return nil
}

func addToggle(fs *pflag.FlagSet, t *toggle, name, help string) {
	fs.VarPF(t, name, "", help).NoOptDefVal = "true"
}

// flagError words pflag's errors in ours and names the help that answers them.
func flagError(cmd *cobra.Command, err error) error {
	msg := err.Error()
	var invalid *pflag.InvalidValueError
	if errors.As(err, &invalid) {
		name := "--" + invalid.GetFlag().Name
		inner := errors.Unwrap(err)
		if errors.Is(err, errDuplicate) {
			msg = "duplicate option " + name
		} else if inner != nil {
			msg = name + " " + inner.Error()
		}
	}
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) {
		msg = "unknown option --" + unknown.GetSpecifiedName()
		if unknown.GetSpecifiedName() == "json" {
			return withHint(errors.New(msg), cmd.CommandPath()+" --format json")
		}
	}
	var missing *pflag.ValueRequiredError
	if errors.As(err, &missing) {
		msg = "--" + missing.GetSpecifiedName() + " needs a value"
	}
	return withHint(errors.New(msg), strings.Replace(cmd.CommandPath(), "gatesworn", "gatesworn help", 1))
}
