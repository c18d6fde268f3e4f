package approval

import (
	"bytes"
	"errors"
	"fmt"
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// Limits of shape: a policy is a dozen short lines, two levels deep.
const (
	maxLines    = 400
	maxColumns  = 1000 // bytes of a line
	maxIndent   = 16
	maxBrackets = 64 // on one line; eight times that in the file
)

// ParsePolicy reads policy.yml strictly: one document, one mapping, known keys
// once each, plain scalars and lists. The error is a Problems with the position
// of everything that is wrong; the policy is then the zero value, which refuses.
func ParsePolicy(path string, data []byte) (Policy, error) {
	r := reader{path: path, policy: defaults()}
	if root, at, ok := r.document(data); ok {
		r.mapping(root, at, topKeys)
	}
	if len(r.problems) > 0 {
		sort.SliceStable(r.problems, func(i, j int) bool {
			a, b := r.problems[i], r.problems[j]
			return a.Line < b.Line || a.Line == b.Line && a.Column < b.Column
		})
		return Policy{}, r.problems
	}
	return r.policy, nil
}

// reader collects the policy and its problems.
type reader struct {
	path     string
	policy   Policy
	problems Problems
}

func (r *reader) problem(at *token.Token, format string, args ...any) {
	p := Problem{Path: r.path, Message: fmt.Sprintf(format, args...)}
	if at != nil && at.Position != nil {
		p.Line, p.Column = max(at.Position.Line, 1), max(at.Position.Column, 1)
	}
	r.problems = append(r.problems, p)
}

// document returns the one mapping of the file.
func (r *reader) document(data []byte) (*ast.MappingNode, *token.Token, bool) {
	if p, bad := plainText(r.path, data); bad {
		r.problems = append(r.problems, p)
		return nil, nil, false
	}
	file, err := parse(data)
	if err != nil {
		var syntax *yaml.SyntaxError
		if errors.As(err, &syntax) {
			r.problem(syntax.Token, "%s", firstLine(syntax.Message))
		} else {
			r.problem(nil, "%s", firstLine(err.Error()))
		}
		return nil, nil, false
	}
	var docs []*ast.DocumentNode
	for _, d := range file.Docs {
		if _, comment := d.Body.(*ast.CommentGroupNode); d.Body != nil && !comment {
			docs = append(docs, d)
		}
	}
	switch {
	case len(docs) == 0:
		r.problem(nil, "is empty; version, project and repository are required")
		return nil, nil, false
	case len(docs) > 1:
		r.problem(docs[1].Body.GetToken(), "a second document; one is allowed")
		return nil, nil, false
	}
	body := docs[0].Body
	m, ok := body.(*ast.MappingNode)
	if !ok {
		r.problem(body.GetToken(), "must be a mapping of keys to values, not %s", kindOf(body))
	}
	if !ok || len(m.Values) == 0 {
		return m, body.GetToken(), ok
	}
	return m, m.Values[0].Key.GetToken(), ok
}

// parse calls the YAML parser. It is guarded: a parser that panics on hostile
// bytes must refuse them, not end the run without a verdict.
func parse(data []byte) (file *ast.File, err error) {
	defer func() {
		if p := recover(); p != nil {
			file, err = nil, fmt.Errorf("cannot be read as YAML")
		}
	}()
	return parser.ParseBytes(data, 0, parser.AllowDuplicateMapKey())
}

// plainText refuses bytes that YAML readers disagree about, and shapes on which
// the parser is quadratic (45 KiB of nested keys took it 15 s), before it is asked.
func plainText(path string, data []byte) (Problem, bool) {
	lines := bytes.Split(data, []byte("\n"))
	switch {
	case len(data) > MaxPolicy:
		return Problem{Path: path, Message: fmt.Sprintf("is over %d bytes", MaxPolicy)}, true
	case bytes.Count(data, []byte("["))+bytes.Count(data, []byte("{"))+bytes.Count(data, []byte("?")) > 8*maxBrackets:
		return Problem{Path: path, Message: "has too many brackets"}, true
	case len(lines) > maxLines:
		return Problem{Path: path, Message: fmt.Sprintf("has over %d lines", maxLines)}, true
	}
	for i, line := range lines {
		if column, message := plainLine(strings.TrimSuffix(string(line), "\r")); message != "" {
			return Problem{Path: path, Line: i + 1, Column: column, Message: message}, true
		}
	}
	return Problem{}, false
}

// plainLine returns the column and message of what a line must not hold.
func plainLine(text string) (column int, message string) {
	if len(text) > maxColumns {
		return 1, fmt.Sprintf("a line over %d bytes", maxColumns)
	}
	if indent := len(text) - len(strings.TrimLeft(text, " ")); indent > maxIndent {
		return 1, fmt.Sprintf("indented by more than %d", maxIndent)
	}
	brackets := 0
	for _, c := range text {
		column++
		switch {
		case c == utf8.RuneError:
			return column, "text that is not valid UTF-8"
		case c == '\t':
			return column, "a tab; indent and separate with blanks"
		case unicode.IsControl(c) || unicode.In(c, unicode.Cf, unicode.Zl, unicode.Zp):
			return column, fmt.Sprintf("the invisible character %U", c)
		case strings.ContainsRune("[{?", c):
			if brackets++; brackets > maxBrackets {
				return column, "too many brackets on one line"
			}
		}
	}
	return 0, ""
}

// mapping reads the keys of one mapping with the functions of keys.
func (r *reader) mapping(m *ast.MappingNode, at *token.Token, keys []key) {
	first := map[string]int{}
	for _, v := range m.Values {
		t := v.Key.GetToken()
		name, ok := v.Key.(*ast.StringNode)
		if !ok || t.Type != token.StringType {
			r.problem(t, "a key must be a plain word without quotes, not %s", kindOf(v.Key))
			continue
		}
		k, ok := lookup(keys, name.Value)
		if !ok {
			r.problem(t, "unknown key %q; known are %s", name.Value, names(keys))
			continue
		}
		if line, ok := first[k.name]; ok {
			r.problem(t, "key %q is already on line %d", k.name, line)
			continue
		}
		first[k.name] = t.Position.Line
		k.read(r, value{node: v.Value, at: t})
	}
	for _, k := range keys {
		if _, ok := first[k.name]; k.required && !ok {
			r.problem(at, "key %q is missing", k.name)
		}
	}
}

// kindOf names a YAML node for messages.
func kindOf(n ast.Node) string {
	switch n := n.(type) {
	case *ast.AnchorNode, *ast.AliasNode, *ast.MergeKeyNode:
		return "an anchor, alias or merge key"
	case *ast.TagNode:
		return "a tag"
	case *ast.MappingNode, *ast.MappingValueNode, *ast.MappingKeyNode:
		return "a mapping"
	case *ast.SequenceNode:
		return "a list"
	case *ast.LiteralNode:
		return "a block of text"
	case *ast.NullNode:
		return "nothing"
	case *ast.StringNode:
		return "text"
	case *ast.IntegerNode:
		return "a number"
	case *ast.BoolNode:
		return "true or false"
	case nil:
		return "nothing"
	default:
		return strings.ToLower(n.Type().String())
	}
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}
