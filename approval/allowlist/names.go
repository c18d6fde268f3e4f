package allowlist

import (
	"strings"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/gatesworn/gatesworn/approval"
)

// Names of files help people to find things and prove nothing.
const (
	statementSuffix = ".approval"
	signatureSuffix = ".sig"
	maxName         = 128
)

// isStatement reports whether a path is a statement's: directly beneath approvals,
// of plain characters, ending in .approval.
func isStatement(path string) bool {
	name := strings.TrimPrefix(path, approval.ApprovalsPath)
	if !strings.HasSuffix(name, statementSuffix) || len(name) == len(statementSuffix) || len(name) > maxName || name[0] == '.' {
		return false
	}
	for i := range len(name) {
		c := name[i]
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '.' && c != '_' && c != '-' {
			return false
		}
	}
	return true
}

// signatureOf returns the path of the statement whose signature path is, "" if it
// is none: the statement's path, 8 hex digits, .sig.
func signatureOf(path string) string {
	rest, ok := strings.CutSuffix(path, signatureSuffix)
	if !ok || len(rest) < 9 || rest[len(rest)-9] != '.' {
		return ""
	}
	for _, c := range rest[len(rest)-8:] {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return ""
		}
	}
	return rest[:len(rest)-9]
}

// StatementPath is where a statement with that identity is written:
// .gatesworn/approvals/2026-11-30-77aa01bc55e1.approval.
func StatementPath(issued time.Time, id string) string {
	short := strings.TrimPrefix(id, "sha256:")
	return approval.ApprovalsPath + issued.UTC().Format(time.DateOnly) + "-" + short[:min(12, len(short))] + ".approval"
}

// SignaturePath is where the signature of that key over the statement at path is written.
func SignaturePath(path string, key ssh.PublicKey) string {
	return path + "." + strings.TrimPrefix(approval.Digest(key.Marshal()), "sha256:")[:8] + ".sig"
}
