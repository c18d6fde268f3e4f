package allowlist

import (
	"bytes"
	"crypto/ed25519"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"
)

func seeds(f *testing.F, glob string) {
	f.Helper()
	files, err := filepath.Glob(glob)
	if err != nil || len(files) == 0 {
		f.Fatal("no seeds", err)
	}
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
}

func FuzzStatement(f *testing.F) {
	seeds(f, "testdata/statement/ok/*.json")
	f.Fuzz(func(t *testing.T, data []byte) {
		var scratch []byte
		sk := skim(data, &scratch)
		s, err := Parse(data)
		if err != nil {
			return
		}
		again, err := Marshal(s)
		if err != nil || !bytes.Equal(again, data) {
			t.Fatalf("accepted, but printed otherwise: %v", err)
		}
		if len(sk.digests) < len(s.Approve)+len(s.Retire)+len(s.Replaces) {
			t.Fatal("the sketch misses an oracle")
		}
	})
}

func FuzzAllowedSigners(f *testing.F) {
	seeds(f, "testdata/signers/*/*")
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := ParseSigners("allowed_signers", data)
		if err != nil {
			if len(s.List()) != 0 {
				t.Fatal("signers beside an error")
			}
			return
		}
		for _, one := range s.List() {
			back, ok := s.ByKey(one.Key)
			if !ok || back.Principal != one.Principal || !principalForm.MatchString(one.Principal) || strong(one.Key) != nil {
				t.Fatalf("%+v", one)
			}
		}
		if _, err := ParseRevoked("revoked", data); err == nil && len(s.List()) > 0 {
			t.Fatal("signers are no digests")
		}
	})
}

// FuzzSignature: nothing but the one signature of the one text counts.
func FuzzSignature(f *testing.F) {
	key := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{7}, ed25519.SeedSize))
	signer, err := ssh.NewSignerFromKey(key)
	if err != nil {
		f.Fatal(err)
	}
	data := []byte("statement\n")
	good := sign(f, signer, data)
	signers := mustSigners(f, line("a", "", signer.PublicKey()))
	f.Add(good, data)
	f.Add(good, []byte("other"))
	f.Add(signAs(f, signer, data, "file", "sha512"), data)
	f.Add([]byte(armorBegin+"AAAA"+armorEnd), data)
	f.Fuzz(func(t *testing.T, sig, text []byte) {
		got, fault := Verify(sig, text, signers, time.Unix(1_800_000_000, 0))
		if (fault == Counts) != (got.Fault == "") {
			t.Fatal(fault, got)
		}
		if fault != Counts {
			return
		}
		raw, _ := unarmor(sig)
		want, _ := unarmor(good)
		if !bytes.Equal(raw, want) && bytes.Equal(text, data) || !bytes.Equal(text, data) {
			t.Fatalf("altered bytes accepted: %q over %q", sig, text)
		}
	})
}
