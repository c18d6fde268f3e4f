package gitobj

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Commit is a parsed commit.
type Commit struct {
	OID       OID
	Tree      OID
	Parents   []OID
	Author    Person
	Committer Person
	Message   string // as stored, whatever its encoding
}

// Person is an author or committer line. Nothing proves that it is true.
type Person struct {
	Name, Email string
	When        time.Time // zero if the line holds no readable time
}

func isNotFound(err error) bool { return errors.Is(err, ErrNotFound) }

// Commit reads the commit of that id; a tag or another object is an error (see Peel).
func (r *Repo) Commit(oid OID) (Commit, error) {
	kind, data, err := r.object(oid, MaxMeta)
	if err != nil {
		return Commit{}, err
	}
	if kind != "commit" {
		return Commit{}, fmt.Errorf("object %s %w: a %s, no commit", oid, ErrNotFound, kind)
	}
	c, err := parseCommit(data, r.format)
	c.OID = oid
	if err != nil {
		return Commit{}, fmt.Errorf("commit %s: %w", oid, err)
	}
	return c, nil
}

// Peel returns the commit that oid names: itself, or what an annotated tag
// points to, through at most 5 tags.
func (r *Repo) Peel(oid OID) (Commit, error) {
	for range maxTagDepth + 1 {
		kind, data, err := r.object(oid, MaxMeta)
		if err != nil {
			return Commit{}, err
		}
		if kind != "tag" {
			return r.Commit(oid)
		}
		line, _, _ := bytes.Cut(data, []byte("\n"))
		target, ok := strings.CutPrefix(string(line), "object ")
		if !ok {
			return Commit{}, corrupt("tag %s", oid)
		}
		if oid, err = r.parseOID(target); err != nil {
			return Commit{}, corrupt("tag %s", oid)
		}
	}
	return Commit{}, fmt.Errorf("tag %s %w: more than %d tags of tags", oid, ErrLimit, maxTagDepth)
}

func parseCommit(data []byte, f Format) (Commit, error) {
	var c Commit
	head, body, _ := bytes.Cut(data, []byte("\n\n"))
	c.Message = string(body)
	lines := strings.Split(string(head), "\n")
	field := func(key string) (OID, bool, error) {
		if len(lines) == 0 {
			return OID{}, false, nil
		}
		v, ok := strings.CutPrefix(lines[0], key+" ")
		if !ok {
			return OID{}, false, nil
		}
		lines = lines[1:]
		oid, err := ParseOID(v)
		if err != nil || oid.Format() != f {
			return OID{}, false, corrupt("%s line", key)
		}
		return oid, true, nil
	}
	tree, ok, err := field("tree")
	if err != nil || !ok {
		return Commit{}, errors.Join(err, corrupt("tree line"))
	}
	c.Tree = tree
	for {
		p, ok, err := field("parent")
		if err != nil {
			return Commit{}, err
		}
		if !ok {
			break
		}
		c.Parents = append(c.Parents, p)
	}
	if len(lines) < 2 || !strings.HasPrefix(lines[0], "author ") || !strings.HasPrefix(lines[1], "committer ") {
		return Commit{}, corrupt("author or committer line")
	}
	c.Author = parsePerson(lines[0][len("author "):])
	c.Committer = parsePerson(lines[1][len("committer "):])
	return c, nil
}

// parsePerson reads "Name <mail> seconds zone", leniently: old histories hold all
// kinds of lines and nothing here decides anything.
func parsePerson(s string) Person {
	name, rest, ok := strings.Cut(s, "<")
	if !ok {
		return Person{Name: strings.TrimSpace(s)}
	}
	mail, rest, _ := strings.Cut(rest, ">")
	p := Person{Name: strings.TrimSpace(name), Email: mail}
	fields := strings.Fields(rest)
	if len(fields) != 2 {
		return p
	}
	sec, err1 := strconv.ParseInt(fields[0], 10, 64)
	zone, err2 := strconv.Atoi(fields[1])
	if err1 != nil || err2 != nil || sec < 0 || sec > 1<<40 || zone < -9999 || zone > 9999 {
		return p
	}
	p.When = time.Unix(sec, 0).In(time.FixedZone("", (zone/100*60+zone%100)*60))
	return p
}
