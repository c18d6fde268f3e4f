package expect

import (
	"math/rand/v2"
	"strings"
	"sync"
	"unicode"
)

// generator writes patterns from a grammar of ECMA-262's regular expressions,
// Annex B included, and outputs that have a chance to match them. What it
// writes is often invalid on purpose.
type generator struct {
	*rand.Rand
	folds []rune // every character that folds to another
	names int    // named groups so far
	last  rune   // fold written last, so that the output can hold its relatives
}

func newGenerator(seed uint64) *generator {
	return &generator{Rand: rand.New(rand.NewPCG(seed, 0)), folds: folds(), last: 'a'}
}

var folds = sync.OnceValue(func() (all []rune) {
	for r := rune(0x80); r <= unicode.MaxRune; r++ {
		if unicode.SimpleFold(r) != r {
			all = append(all, r)
		}
	}
	return all
})

// alphabet is small so that matches are common; it holds case pairs with
// surprising folds, an astral character and every line terminator.
var alphabet = []string{
	"a", "a", "b", "b", "c", "A", "B", "k", "K", "s", "0", "1", "9", "_", "-", " ", "x",
	"\n", "\n", "\r", "\t", "\u2028", "\u2029", "\x00", "\u00a0", "\ufeff", "\v",
	"é", "É", "ß", "ẞ", "ſ", "\u212a", "σ", "ς", "Σ", "İ", "ı", "ǆ", "ǅ", "Ω", "\u03a9", "٣", "中",
	"😀", "😁", "𐐀", "𐐨", "e\u0301", "👨\u200d👩", "🇩🇪", "#\ufe0f\u20e3",
}

func (g *generator) pick(of ...string) string { return of[g.IntN(len(of))] }

// pair returns one pattern, its flags, and one output.
func (g *generator) pair() (source, flags, output string) {
	g.names = 0
	source = g.disjunction(3)
	flags = g.flags()
	var b strings.Builder
	for range g.IntN(9) {
		if g.IntN(5) == 0 {
			g.last = unicode.SimpleFold(g.last)
			b.WriteRune(g.last)
			continue
		}
		b.WriteString(alphabet[g.IntN(len(alphabet))])
	}
	output = b.String()
	if g.IntN(4) == 0 { // the source itself often nearly matches
		output += strings.Map(func(r rune) rune {
			if strings.ContainsRune(`\()[]{}*+?^$|.`, r) {
				return -1
			}
			return r
		}, source)
	}
	return source, flags, output
}

func (g *generator) flags() string {
	var b strings.Builder
	for _, f := range "dgimsuvy" {
		odds := 5
		if strings.ContainsRune("dgv", f) {
			odds = 12
		}
		if g.IntN(odds) == 0 {
			b.WriteRune(f)
		}
	}
	if g.IntN(50) == 0 {
		b.WriteString(g.pick("g", "x", "uv", "ii"))
	}
	return b.String()
}

func (g *generator) disjunction(depth int) string {
	s := g.alternative(depth)
	for g.IntN(5) == 0 {
		s += "|" + g.alternative(depth)
	}
	return s
}

func (g *generator) alternative(depth int) string {
	var b strings.Builder
	for range g.IntN(5) {
		b.WriteString(g.term(depth))
	}
	return b.String()
}

func (g *generator) term(depth int) string {
	switch g.IntN(9) {
	case 0:
		return g.pick("^", "$", `\b`, `\B`, "^", "$")
	case 1:
		if depth > 0 {
			s := g.pick("(?=", "(?!", "(?<=", "(?<!") + g.disjunction(depth-1) + ")"
			if g.IntN(4) == 0 {
				s += g.quantifier()
			}
			return s
		}
	case 2, 3, 4:
		return g.atom(depth) + g.quantifier()
	}
	return g.atom(depth)
}

func (g *generator) quantifier() string {
	s := g.pick("*", "+", "?", "{2}", "{0}", "{1,}", "{0,2}", "{2,3}", "{,2}", "{2,1}", "{", "{x}", "{0,4294967296}", "{1")
	if g.IntN(3) == 0 {
		s += "?"
	}
	return s
}

func (g *generator) atom(depth int) string {
	switch g.IntN(10) {
	case 0:
		return "."
	case 1, 2:
		return g.class(depth)
	case 3:
		return g.escape()
	case 4, 5:
		if depth > 0 {
			return g.group(depth - 1)
		}
	case 6:
		if g.IntN(20) == 0 {
			return g.pick("]", "}", "{", ")", "(", "[", `\`, "*", "(?", "(?>a)", "(?P<n>a)")
		}
	case 7:
		return g.backreference()
	}
	return g.literal()
}

func (g *generator) group(depth int) string {
	switch g.IntN(5) {
	case 0, 1:
		return "(?:" + g.disjunction(depth) + ")"
	case 2:
		g.names++
		return "(?<" + g.pick("n", "a", "é", "$", "𐐀", `\u0061`) + string(rune('0'+g.names%10)) + ">" + g.disjunction(depth) + ")"
	}
	return "(" + g.disjunction(depth) + ")"
}

func (g *generator) backreference() string {
	if g.names > 0 || g.IntN(6) == 0 {
		return g.pick(`\k<n1>`, `\k<a1>`, `\k<n2>`, `\k<`, `\k`, `\k<n1`, `\k<\u{61}1>`)
	}
	return g.pick(`\1`, `\2`, `\3`, `\1`, `\8`, `\10`, `\07`)
}

func (g *generator) literal() string {
	if g.IntN(12) == 0 {
		g.last = g.folds[g.IntN(len(g.folds))]
		return string(g.last)
	}
	s := alphabet[g.IntN(len(alphabet))]
	if s == "\n" && g.IntN(2) == 0 {
		return `\n`
	}
	return s
}

func (g *generator) escape() string {
	return g.pick(
		`\d`, `\D`, `\w`, `\W`, `\s`, `\S`, `\d`, `\w`, `\s`,
		`\n`, `\r`, `\t`, `\v`, `\f`, `\0`, `\00`, `\01`, `\377`, `\400`, `\9`,
		`\x41`, `\x4`, `\u0041`, `\u00e9`, `\u004`, `\u{41}`, `\u{1F600}`, `\u{110000}`, `\u{}`,
		`\ud83d`, `\ude00`, `\ud83d\ude00`, `\ud83d\u`, `\cA`, `\cj`, `\c1`, `\c`, `\c_`,
		`\.`, `\/`, `\-`, `\^`, `\$`, `\{`, `\]`, `\a`, `\e`, `\z`, `\_`, `\é`, `\😀`,
		`\p{L}`, `\P{L}`, `\p{Lu}`, `\p{Ll}`, `\p{Script=Greek}`, `\p{Script_Extensions=Latin}`, `\p{ASCII}`, `\p{Any}`,
		`\p{Emoji}`, `\p{Nd}`, `\p{Nope}`, `\p{L`, `\p`, `\P{Lu}`, `\p{White_Space}`, `\p{RGI_Emoji}`, `\p{Basic_Emoji}`, `\P{RGI_Emoji}`,
	)
}

func (g *generator) class(depth int) string {
	var b strings.Builder
	b.WriteString("[")
	if g.IntN(3) == 0 {
		b.WriteString("^")
	}
	for range g.IntN(4) {
		b.WriteString(g.classItem(depth))
	}
	b.WriteString("]")
	return b.String()
}

func (g *generator) classItem(depth int) string {
	switch g.IntN(9) {
	case 0:
		return g.pick("a-c", "A-Z", "0-9", "b-a", `\d-x`, `a-\w`, "--0", `\x00-\x1f`, "a-", "-a", "k-s", "À-ÿ", `\u{10400}-\u{10427}`, "😀-😁", `\ud800-\udfff`)
	case 1, 2:
		return g.escape()
	case 3:
		return g.pick(`\b`, `\B`, `\c`, `\c1`, `\c_`, `\1`, `\8`, "^", "|", "(", ".", "&&", "--", "&", `\q{a|bc}`, `\q{}`, "!!", "[")
	case 4:
		if depth > 0 && g.IntN(2) == 0 {
			return g.class(depth-1) + g.pick("", "--", "&&") + g.class(depth-1)
		}
	}
	return g.literal()
}
