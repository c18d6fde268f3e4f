package ledger_test

import (
	"regexp"
	"strings"
)

// peer is a second reading of a ledger, after the reference's description of the
// older checker: regular expressions over lines, nothing else. Whatever we
// accept, it must accept and read the same way.
type peer struct {
	gates  []peerGate
	owns   []string
	errors []string
}

type peerGate struct {
	id, title   string
	ticked      bool
	attrs       map[string]string
	abandoned   string
	isAbandoned bool
}

// js spells JavaScript's \s for Go.
const js = `[\t\n\v\f\r \x{A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000}\x{FEFF}]`

var (
	peerEOL     = regexp.MustCompile(`\r?\n`)
	peerFence   = regexp.MustCompile("^ {0,3}(`{3,}|~{3,})(.*)$")
	peerGateRE  = regexp.MustCompile(`^- \[( |x|X)\] (.*)$`)
	peerID      = regexp.MustCompile(`^([^\t\n\v\f\r \x{A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000}\x{FEFF}]+?):(` + js + `+|$)`)
	peerValidID = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)
	peerAttr    = regexp.MustCompile(`^(` + js + `+)(CHECK|EXPECT|EVIDENCE|CWD):` + js + `?(.*)$`)
	peerFlush   = regexp.MustCompile(`^(CHECK|EXPECT|EVIDENCE|CWD):`)
	peerAbandon = regexp.MustCompile(`^ABANDON:` + js + `*([^\t\n\v\f\r \x{A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000}\x{FEFF}]*)` + js + `*(.*)$`)
	peerInner   = regexp.MustCompile(`^` + js + `+ABANDON:`)
	peerOwns    = regexp.MustCompile(`^OWNS:` + js + `*(.*)$`)
	peerTrim    = regexp.MustCompile(`^` + js + `+|` + js + `+$`)
)

func jsTrim(s string) string { return peerTrim.ReplaceAllString(s, "") }

func readAsPeer(text string) peer {
	var p peer
	fail := func(s string) { p.errors = append(p.errors, s) }
	var fenceChar byte
	fenceLen := 0
	cur := -1
	type dropped struct{ id, reason string }
	var abandons []dropped
	ids := map[string]bool{}
	for _, line := range peerEOL.Split(text, -1) {
		if m := peerFence.FindStringSubmatch(line); m != nil {
			if fenceLen > 0 {
				if m[1][0] == fenceChar && len(m[1]) >= fenceLen && jsTrim(m[2]) == "" {
					fenceLen = 0
				}
				continue
			}
			if m[1][0] != '`' || !strings.Contains(m[2], "`") {
				fenceChar, fenceLen = m[1][0], len(m[1])
				continue
			}
		}
		if fenceLen > 0 {
			continue
		}
		if m := peerGateRE.FindStringSubmatch(line); m != nil {
			cur = -1
			title := jsTrim(m[2])
			id := peerID.FindStringSubmatch(title)
			if id == nil || !peerValidID.MatchString(id[1]) || ids[id[1]] {
				fail("id: " + line)
				continue
			}
			ids[id[1]] = true
			outcome := jsTrim(title[len(id[0]):])
			if outcome == "" {
				fail("outcome: " + line)
			}
			p.gates = append(p.gates, peerGate{id: id[1], title: outcome, ticked: m[1] != " ", attrs: map[string]string{}})
			cur = len(p.gates) - 1
			continue
		}
		switch m := peerAttr.FindStringSubmatch(line); {
		case m != nil && cur < 0:
			fail("orphan: " + line)
		case m != nil:
			if _, twice := p.gates[cur].attrs[m[2]]; twice {
				fail("twice: " + line)
			}
			p.gates[cur].attrs[m[2]] = jsTrim(m[3])
		case peerFlush.MatchString(line):
			fail("unindented: " + line)
			cur = -1
		case peerInner.MatchString(line):
			fail("indented abandon: " + line)
		case peerAbandon.MatchString(line):
			cur = -1
			m := peerAbandon.FindStringSubmatch(line)
			id := strings.TrimSuffix(m[1], ":")
			if id == "" || jsTrim(m[2]) == "" {
				fail("abandon: " + line)
			}
			abandons = append(abandons, dropped{id, jsTrim(m[2])})
		case peerOwns.MatchString(line):
			if len(p.gates) > 0 {
				fail("late owns: " + line)
			}
			for _, v := range strings.Split(peerOwns.FindStringSubmatch(line)[1], ",") {
				if jsTrim(v) != "" {
					p.owns = append(p.owns, jsTrim(v))
				}
			}
		case strings.HasPrefix(line, "#"), strings.HasPrefix(line, "- "):
			cur = -1
		}
	}
	if fenceLen > 0 {
		fail("unclosed fence")
	}
	if len(p.gates) == 0 {
		fail("no gates")
	}
	for i := range p.gates {
		g := &p.gates[i]
		check, hasCheck := g.attrs["CHECK"]
		expect, hasExpect := g.attrs["EXPECT"]
		if hasCheck != hasExpect || hasCheck && (check == "" || expect == "") {
			fail("pair: " + g.id)
		}
		for _, a := range abandons {
			if a.id == g.id {
				if g.isAbandoned {
					fail("abandoned twice: " + g.id)
				}
				g.abandoned, g.isAbandoned = a.reason, true
			}
		}
	}
	for _, a := range abandons {
		if !ids[a.id] {
			fail("abandons unknown: " + a.id)
		}
	}
	return p
}
