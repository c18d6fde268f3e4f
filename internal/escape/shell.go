package escape

import "strings"

// ShellQuote gives s as one word of a command line that is offered for copying,
// for sh, bash, dash and zsh. ok is false where s holds a character that a page
// or terminal would not show as it is (a control character, invisible or invalid
// text): such a command is not offered. A word that begins with '-' stays an
// option: put "--" or "./" before it.
func ShellQuote(s string) (quoted string, ok bool) {
	if Line(s) != s {
		return "", false
	}
	if s != "" && strings.Trim(s, plainWord) == "" && s[0] != '=' {
		return s, true
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'", true
}

// plainWord means nothing to any of the shells, anywhere in a word ('=' at its start does, to zsh).
const plainWord = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-"
