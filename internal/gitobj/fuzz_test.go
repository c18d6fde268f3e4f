package gitobj

import (
	"bytes"
	"compress/zlib"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// typed reports that an error says what is wrong in this package's terms.
func typed(err error) bool {
	for _, e := range []error{ErrCorrupt, ErrLimit, ErrUnsupported, ErrNotFound, ErrName} {
		if errors.Is(err, e) {
			return true
		}
	}
	return err == nil
}

func deflated(s string) []byte {
	var b bytes.Buffer
	z := zlib.NewWriter(&b)
	z.Write([]byte(s))
	z.Close()
	return b.Bytes()
}

func FuzzObject(f *testing.F) {
	id := strings.Repeat("1", 40)
	f.Add(deflated("blob 1\x00a"))
	f.Add(deflated("tree 29\x00100644 a\x00" + strings.Repeat("\x01", 20)))
	f.Add(deflated("commit 99\x00tree " + id + "\nparent " + id + "\nauthor A <a> 1 +0100\ncommitter B <b> 1 -0100\n\nm"))
	f.Add([]byte("tree " + id + "\nauthor A <a> 1 +0100\ncommitter B <b> 1 -0100\n\nm"))
	f.Add([]byte("100644 a\x00" + strings.Repeat("\x01", 20)))
	f.Fuzz(func(t *testing.T, data []byte) {
		kind, body, err := (*inflaters)(nil).readLoose(bytes.NewReader(data), 1<<16)
		if !typed(err) {
			t.Fatal(err)
		}
		if err == nil && (len(body) > 1<<16 || !knownKind(kind)) {
			t.Fatal(kind, len(body))
		}
		for _, raw := range [][]byte{body, data} {
			if list, err := parseTree(raw, SHA1); !typed(err) {
				t.Fatal(err)
			} else if err == nil {
				var back bytes.Buffer
				for _, e := range list {
					back.WriteString(strings.TrimPrefix(e.Mode.String(), "0") + " " + e.Path + "\x00")
					back.Write(e.OID.raw())
				}
				// Old spellings of modes aside, what is accepted prints as it was.
				if back.Len() == len(raw) && !bytes.Equal(back.Bytes(), raw) && !bytes.Contains(raw, []byte("100664 ")) {
					t.Fatalf("%q", raw)
				}
			}
			if _, err := parseCommit(raw, SHA1); !typed(err) {
				t.Fatal(err)
			}
		}
	})
}

// fuzzedPack is a pack whose index may say anything.
func fuzzedPack(data, idx []byte) (*pack, error) {
	if err := checkPackHeader(bytes.NewReader(data), int64(len(data)), SHA1); err != nil {
		return nil, err
	}
	x, err := newIndex(bytes.NewReader(idx), int64(len(idx)), SHA1)
	if err != nil {
		return nil, err
	}
	return &pack{format: SHA1, idx: x, src: bytes.NewReader(data), size: int64(len(data))}, nil
}

func seedPack() (data, idx []byte) {
	a, b := SHA1.HashBlob([]byte("a")), SHA1.HashBlob([]byte("b"))
	p := newRawPack(3)
	p.add(packBlob, 1, nil, []byte("b"))
	p.add(packRefDelta, 4, b.raw(), []byte{1, 1, 1, 'a'})
	p.add(packOfsDelta, 4, []byte{12}, []byte{1, 3, 1, 'c', 0x90, 1})
	p.Write(make([]byte, 20))
	return p.Bytes(), rawIndex([]OID{b, a, rawOID(bytes.Repeat([]byte{9}, 20))}, p.at)
}

func FuzzPack(f *testing.F) {
	data, idx := seedPack()
	f.Add(data, int64(12))
	f.Add(data, int64(22))
	f.Add(data, int64(55))
	f.Fuzz(func(t *testing.T, data []byte, at int64) {
		p, err := fuzzedPack(data, idx)
		if err != nil {
			if !typed(err) {
				t.Fatal(err)
			}
			return
		}
		var cache baseCache
		_, first, err1 := p.object(at, 1<<16, &cache)
		_, second, err2 := p.object(at, 1<<16, &cache)
		if !typed(err1) || (err1 == nil) != (err2 == nil) || !bytes.Equal(first, second) || len(first) > 1<<16 {
			t.Fatal(err1, err2)
		}
	})
}

func FuzzDelta(f *testing.F) {
	f.Add([]byte("base"), []byte{4, 6, 2, 'a', 'b', 0x90, 4})
	f.Fuzz(func(t *testing.T, base, delta []byte) {
		out, err := applyDelta(base, delta, 1<<16)
		if !typed(err) || len(out) > 1<<16 {
			t.Fatal(len(out), err)
		}
	})
}

func FuzzIdx(f *testing.F) {
	data, idx := seedPack()
	f.Add(idx, bytes.Repeat([]byte{9}, 20))
	f.Fuzz(func(t *testing.T, idx, name []byte) {
		if len(name) != 20 {
			return
		}
		p, err := fuzzedPack(data, idx)
		if err == nil {
			var at int64
			if at, err = p.find(rawOID(name)); err == nil {
				_, _, err = p.object(at, 1<<16, &baseCache{})
			}
		}
		if !typed(err) {
			t.Fatal(err)
		}
	})
}

func FuzzIndex(f *testing.F) {
	seeds, err := filepath.Glob("testdata/index/*")
	if err != nil || len(seeds) == 0 {
		f.Fatal("no seeds", err)
	}
	for _, s := range seeds {
		data, err := os.ReadFile(s)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data, strings.HasSuffix(s, "256"))
	}
	f.Fuzz(func(t *testing.T, data []byte, long bool) {
		format := SHA1
		if long {
			format = SHA256
		}
		list, err := parseIndex(data, format)
		if !typed(err) {
			t.Fatal(err)
		}
		for _, e := range list {
			if !safePath(e.path) {
				t.Fatalf("%q", e.path)
			}
		}
	})
}

func FuzzText(f *testing.F) {
	f.Add("[a \"b\"]\nk = \"v\\n\" # c\n", "a/**/[!b]*", "a/x/cd")
	f.Add("*.x text=auto -m\n", "**", "a")
	f.Fuzz(func(t *testing.T, text, pat, path string) {
		if _, err := ParseConfig([]byte(text)); !typed(err) {
			t.Fatal(err)
		}
		a := NewAttributes()
		a.Add("", []byte(text))
		a.Conversion(path)
		parseIgnore("", []byte(text)).decide(path, false)
		if m, sure := wildMatch(pat, path); m && !sure {
			t.Fatal("matched, but not sure")
		}
		if pat == path && !strings.ContainsAny(pat, `*?[\`) {
			if m, _ := wildMatch(pat, path); !m {
				t.Fatal("a literal pattern matches itself")
			}
		}
		if CheckRefName(path) == nil && path != "HEAD" && (strings.Contains(path, "..") || !strings.HasPrefix(path, "refs/")) {
			t.Fatal(path)
		}
	})
}
