// Package keepdeps holds go.sum entries while packages are being written; it is deleted before the first release.
package keepdeps

import (
	_ "github.com/bmatcuk/doublestar/v4"
	_ "github.com/charmbracelet/x/ansi"
	_ "github.com/goccy/go-yaml"
	_ "github.com/gofri/go-github-ratelimit/v2/github_ratelimit"
	_ "github.com/gofrs/flock"
	_ "github.com/google/go-cmp/cmp"
	_ "github.com/google/go-github/v62/github"
	_ "github.com/google/renameio/v2"
	_ "github.com/hiddeco/sshsig"
	_ "github.com/jstemmer/go-junit-report/v2/junit"
	_ "github.com/rogpeppe/go-internal/testscript"
	_ "github.com/santhosh-tekuri/jsonschema/v6"
	_ "github.com/sethvargo/go-githubactions"
	_ "github.com/spf13/cobra"
	_ "github.com/yuin/goldmark"
	_ "golang.org/x/crypto/ssh/agent"
	_ "golang.org/x/oauth2"
	_ "golang.org/x/sys/unix"
	_ "golang.org/x/term"
	_ "golang.org/x/text/cases"
	_ "golang.org/x/text/encoding/unicode"
	_ "golang.org/x/text/unicode/norm"
	_ "modernc.org/quickjs"
	_ "pgregory.net/rapid"
)
