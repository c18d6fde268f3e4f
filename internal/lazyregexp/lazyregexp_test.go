package lazyregexp_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/gatesworn/gatesworn/internal/lazyregexp"
)

// TestEveryPatternCompiles reads the module's sources: what is compiled late must not fail late.
func TestEveryPatternCompiles(t *testing.T) {
	t.Parallel()
	found := 0
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || !isNew(call) {
				return true
			}
			found++
			if p, ok := constant(call.Args[0]); !ok {
				t.Errorf("%s: a pattern that is not a constant", path)
			} else if _, err := regexp.Compile(p); err != nil {
				t.Errorf("%s: %v", path, err)
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if found == 0 {
		t.Fatal("no pattern found")
	}
}

func isNew(c *ast.CallExpr) bool {
	s, ok := c.Fun.(*ast.SelectorExpr)
	if !ok || s.Sel.Name != "New" || len(c.Args) != 1 {
		return false
	}
	x, ok := s.X.(*ast.Ident)
	return ok && x.Name == "lazyregexp"
}

// constant evaluates a literal or a sum of literals.
func constant(e ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		s, err := strconv.Unquote(e.Value)
		return s, err == nil
	case *ast.BinaryExpr:
		l, ok := constant(e.X)
		r, ok2 := constant(e.Y)
		return l + r, ok && ok2 && e.Op == token.ADD
	}
	return "", false
}

func TestSameAsRegexp(t *testing.T) {
	t.Parallel()
	r := lazyregexp.New(`a(b*)`)
	if !r.MatchString("xabb") || r.FindStringSubmatch("xabb")[1] != "bb" || r.FindStringIndex("xabb")[0] != 1 || r.ReplaceAllString("ab", "$1") != "b" {
		t.Error("not regexp's answers")
	}
}
