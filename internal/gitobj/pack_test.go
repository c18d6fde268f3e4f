package gitobj

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// packed is a repository whose only object file is one pack.
func packed(t *testing.T, format string) (r repoAt, pack, idx string) {
	r = newRepo(t, format)
	history(r, 4)
	r.git("gc", "-q", "--prune=now")
	packs, _ := filepath.Glob(r.path(".git/objects/pack/*.pack"))
	if len(packs) != 1 {
		t.Fatal(packs)
	}
	return r, packs[0], strings.TrimSuffix(packs[0], ".pack") + ".idx"
}

func TestTamperedPack(t *testing.T) {
	t.Parallel()
	eachFormat(t, func(t *testing.T, format string) {
		r, pack, idx := packed(t, format)
		var oids []OID
		for line := range strings.SplitSeq(strings.TrimSpace(r.git("cat-file", "--batch-all-objects", "--batch-check")), "\n") {
			oid, _ := ParseOID(strings.Fields(line)[0])
			oids = append(oids, oid)
		}
		for _, file := range []string{pack, idx} {
			original, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			refused := 0
			for i := 0; i < len(original); i += 1 + len(original)/150 {
				for _, bad := range [][]byte{flipped(original, i), original[:i]} {
					os.Remove(file)
					if err := os.WriteFile(file, bad, 0o444); err != nil {
						t.Fatal(err)
					}
					refused += readAll(t, r.dir, oids)
				}
			}
			if refused == 0 {
				t.Errorf("%s: no change was noticed", file)
			}
			os.Remove(file)
			if err := os.WriteFile(file, original, 0o444); err != nil {
				t.Fatal(err)
			}
		}
		if n := readAll(t, r.dir, oids); n != 0 {
			t.Fatalf("%d objects refused in the end", n)
		}
	})
}

func flipped(b []byte, i int) []byte {
	c := bytes.Clone(b)
	c[i] ^= 0x55
	return c
}

// readAll counts the objects that are refused; what is returned has been hashed
// by object itself, so that only the kind of the errors is to be checked.
func readAll(t *testing.T, dir string, oids []OID) (refused int) {
	t.Helper()
	g, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	for _, oid := range oids {
		kind, data, err := g.object(oid, MaxMeta)
		switch {
		case err == nil:
			if g.format.hashObject(kind, data) != oid {
				t.Fatalf("altered bytes accepted for %s", oid)
			}
		case errors.Is(err, ErrCorrupt), errors.Is(err, ErrNotFound), errors.Is(err, ErrLimit), errors.Is(err, ErrUnsupported):
			refused++
		default:
			t.Fatalf("untyped error: %v", err)
		}
	}
	return refused
}

// rawPack writes entries of a pack by hand.
type rawPack struct {
	bytes.Buffer
	at []int64
}

func newRawPack(count int) *rawPack {
	p := &rawPack{}
	p.WriteString("PACK\x00\x00\x00\x02")
	binary.Write(p, binary.BigEndian, uint32(count))
	return p
}

func (p *rawPack) add(kind int, size int, prefix, data []byte) {
	p.at = append(p.at, int64(p.Len()))
	b := byte(kind<<4 | size&15)
	for size >>= 4; size > 0; size >>= 7 {
		p.WriteByte(b | 0x80)
		b = byte(size & 0x7f)
	}
	p.WriteByte(b)
	p.Write(prefix)
	z := zlib.NewWriter(p)
	z.Write(data)
	z.Close()
}

// install stores the pack with an index that gives each name its entry.
func (p *rawPack) install(t *testing.T, r repoAt, oids []OID) {
	t.Helper()
	p.Write(make([]byte, 20))
	base := r.path(".git/objects/pack/pack-0000")
	if err := os.WriteFile(base+".pack", p.Bytes(), 0o444); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(base+".idx", rawIndex(oids, p.at), 0o444); err != nil {
		t.Fatal(err)
	}
}

func rawIndex(oids []OID, at []int64) []byte {
	order := make([]int, len(oids))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return bytes.Compare(oids[a].raw(), oids[b].raw()) })
	var out bytes.Buffer
	out.WriteString("\xfftOc\x00\x00\x00\x02")
	for first := range 256 {
		n := uint32(0)
		for _, o := range oids {
			if int(o.b[0]) <= first {
				n++
			}
		}
		binary.Write(&out, binary.BigEndian, n)
	}
	for _, i := range order {
		out.Write(oids[i].raw())
	}
	out.Write(make([]byte, 4*len(oids)))
	for _, i := range order {
		binary.Write(&out, binary.BigEndian, uint32(at[i]))
	}
	out.Write(make([]byte, 40))
	return out.Bytes()
}

func TestHostilePack(t *testing.T) {
	t.Parallel()
	a, b := SHA1.HashBlob([]byte("a")), SHA1.HashBlob([]byte("b"))
	delta := []byte{1, 1, 1, 'a'} // from 1 byte to 1 byte: insert a
	cases := map[string]struct {
		want error
		fill func(p *rawPack)
	}{
		"two deltas that need each other": {ErrCorrupt, func(p *rawPack) {
			p.add(packRefDelta, len(delta), b.raw(), delta)
			p.add(packRefDelta, len(delta), a.raw(), delta)
		}},
		"a delta that needs itself": {ErrCorrupt, func(p *rawPack) {
			p.add(packRefDelta, len(delta), a.raw(), delta)
			p.add(packBlob, 1, nil, []byte("b"))
		}},
		"a base that is elsewhere": {ErrCorrupt, func(p *rawPack) {
			p.add(packRefDelta, len(delta), SHA1.HashBlob([]byte("x")).raw(), delta)
			p.add(packBlob, 1, nil, []byte("b"))
		}},
		"an offset before the pack": {ErrCorrupt, func(p *rawPack) {
			p.add(packOfsDelta, len(delta), []byte{0xff, 0x7f}, delta)
			p.add(packBlob, 1, nil, []byte("b"))
		}},
		"an offset of zero": {ErrCorrupt, func(p *rawPack) {
			p.add(packOfsDelta, len(delta), []byte{0}, delta)
			p.add(packBlob, 1, nil, []byte("b"))
		}},
		"a size that lies low": {ErrCorrupt, func(p *rawPack) {
			p.add(packBlob, 1, nil, make([]byte, 1<<20))
			p.add(packBlob, 1, nil, []byte("b"))
		}},
		"a size that lies high": {ErrCorrupt, func(p *rawPack) {
			p.add(packBlob, 1<<20, nil, []byte("a"))
			p.add(packBlob, 1, nil, []byte("b"))
		}},
		"a claimed size of gigabytes": {ErrLimit, func(p *rawPack) {
			p.add(packBlob, 1<<35, nil, []byte("a"))
			p.add(packBlob, 1, nil, []byte("b"))
		}},
		"a delta to gigabytes": {ErrLimit, func(p *rawPack) {
			p.add(packRefDelta, 8, b.raw(), []byte{1, 0xff, 0xff, 0xff, 0xff, 0x7f, 1, 'a'})
			p.add(packBlob, 1, nil, []byte("b"))
		}},
		"another blob": {ErrCorrupt, func(p *rawPack) {
			p.add(packBlob, 1, nil, []byte("c"))
			p.add(packBlob, 1, nil, []byte("b"))
		}},
		"a tree of that name": {ErrCorrupt, func(p *rawPack) {
			p.add(packTree, 1, nil, []byte("a"))
			p.add(packBlob, 1, nil, []byte("b"))
		}},
		"type 0": {ErrCorrupt, func(p *rawPack) {
			p.add(0, 1, nil, []byte("a"))
			p.add(packBlob, 1, nil, []byte("b"))
		}},
		"type 5": {ErrCorrupt, func(p *rawPack) {
			p.add(5, 1, nil, []byte("a"))
			p.add(packBlob, 1, nil, []byte("b"))
		}},
		"no harm": {nil, func(p *rawPack) {
			p.add(packRefDelta, len(delta), b.raw(), delta)
			p.add(packBlob, 1, nil, []byte("b"))
		}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRepo(t, "sha1")
			p := newRawPack(2)
			c.fill(p)
			p.install(t, r, []OID{a, b})
			g := r.open()
			for range 2 { // the second time with a warm cache
				data, err := g.Blob(a, 1<<20)
				if !errors.Is(err, c.want) || err == nil && string(data) != "a" {
					t.Errorf("%q, %v; want %v", data, err, c.want)
				}
			}
		})
	}
}

func TestZlibBomb(t *testing.T) {
	t.Parallel()
	r := newRepo(t, "sha1")
	a := SHA1.HashBlob([]byte("a"))
	var buf bytes.Buffer
	z := zlib.NewWriter(&buf)
	z.Write([]byte("blob 1\x00"))
	zeros := make([]byte, 1<<20)
	for range 200 {
		z.Write(zeros)
	}
	z.Close()
	name := a.String()
	r.write(".git/objects/"+name[:2]+"/"+name[2:], buf.String())
	if _, err := r.open().Blob(a, MaxBlob); !errors.Is(err, ErrCorrupt) {
		t.Fatal(err)
	}
}

// A tree of trees that repeat each other has 10^12 paths and 13 objects.
func TestGitBomb(t *testing.T) {
	t.Parallel()
	r := newRepo(t, "sha1")
	oid := strings.TrimSpace(r.gitIn("x", "hash-object", "-w", "--stdin"))
	mode, kind := "100644", "blob"
	for range 12 {
		var list strings.Builder
		for i := range 10 {
			list.WriteString(mode + " " + kind + " " + oid + "\td" + string(rune('0'+i)) + "\n")
		}
		oid = strings.TrimSpace(r.gitIn(list.String(), "mktree"))
		mode, kind = "040000", "tree"
	}
	tree, _ := ParseOID(oid)
	err := r.open().Walk(t.Context(), tree, func(Entry) error { return nil })
	if !errors.Is(err, ErrLimit) {
		t.Fatal(err)
	}
	// and one that is only deep
	for range maxTreeNest + 1 {
		oid = strings.TrimSpace(r.gitIn("040000 tree "+oid+"\td\n", "mktree"))
	}
	tree, _ = ParseOID(oid)
	if err := r.open().Walk(t.Context(), tree, func(Entry) error { return nil }); !errors.Is(err, ErrLimit) {
		t.Fatal(err)
	}
}

func TestHostileTree(t *testing.T) {
	t.Parallel()
	id := strings.Repeat("\x01", 20)
	e := func(mode, name string) string { return mode + " " + name + "\x00" + id }
	for name, c := range map[string]struct {
		raw  string
		good bool
	}{
		"empty":             {"", true},
		"plain":             {e("100644", "a") + e("40000", "b"), true},
		"old spellings":     {e("100664", "a") + e("040000", "b"), true},
		"folder sorts late": {e("100644", "a.b") + e("40000", "a"), true},
		"dot git":           {e("40000", ".git"), false},
		"DOT GIT":           {e("40000", ".GiT"), false},
		"parent":            {e("40000", ".."), false},
		"self":              {e("40000", "."), false},
		"no name":           {e("100644", ""), false},
		"slash":             {e("100644", "a/b"), false},
		"repeated":          {e("100644", "a") + e("100644", "a"), false},
		"file and folder":   {e("100644", "a") + e("100644", "a.b") + e("40000", "a"), false},
		"unsorted":          {e("100644", "b") + e("100644", "a"), false},
		"mode 0":            {e("0", "a"), false},
		"mode 100600":       {e("100600", "a"), false},
		"mode 1":            {e("1", "a"), false},
		"device":            {e("60000", "a"), false},
		"cut id":            {"100644 a\x00" + id[:19], false},
		"cut name":          {"100644 a", false},
		"no mode":           {"a\x00" + id, false},
	} {
		_, err := parseTree([]byte(c.raw), SHA1)
		if (err == nil) != c.good || err != nil && !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The published SHA-1 collision (shattered.io): two 320-byte beginnings with one
// hash. Collision detection must notice both; git's hash of a blob has another
// prefix, so the raw hash is tested.
func TestSHA1Collision(t *testing.T) {
	t.Parallel()
	for _, half := range []string{"testdata/shattered-1.hex", "testdata/shattered-2.hex"} {
		text, err := os.ReadFile(half)
		if err != nil {
			t.Fatal(err)
		}
		data, err := hex.DecodeString(strings.Join(strings.Fields(string(text)), ""))
		if err != nil || len(data) != 320 {
			t.Fatal(len(data), err)
		}
		h := SHA1.hasher()
		h.Write(data)
		if oid, ok := SHA1.sum(h); ok {
			t.Errorf("%s: collision not noticed, %s", half, oid)
		}
	}
}
