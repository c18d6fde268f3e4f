package ledger

import (
	"fmt"
	"strings"
)

// Names that steer the programs a check starts (loaders, interpreters, build
// tools) and could make any command do anything: 4-runner.
const loaderNames = `ENV BASH_ENV BASHOPTS SHELLOPTS PS4 PROMPT_COMMAND IFS CDPATH ZDOTDIR
	NODE_OPTIONS NODE_PATH PYTHONSTARTUP PYTHONPATH PYTHONHOME PYTHONINSPECT PYTHONUSERBASE PYTHONBREAKPOINT PYTHONWARNINGS
	PERL5OPT PERL5LIB PERLLIB PERL5DB RUBYOPT RUBYLIB BUNDLE_GEMFILE PHPRC PHP_INI_SCAN_DIR LUA_INIT LUA_PATH LUA_CPATH
	JAVA_TOOL_OPTIONS _JAVA_OPTIONS JDK_JAVA_OPTIONS JAVA_OPTS CLASSPATH MAVEN_OPTS MAVEN_ARGS GRADLE_OPTS SBT_OPTS
	DOTNET_STARTUP_HOOKS DOTNET_ADDITIONAL_DEPS GCONV_PATH LOCPATH NLSPATH GLIBC_TUNABLES HOSTALIASES RES_OPTIONS
	GOFLAGS GOENV GOTOOLCHAIN RUSTC RUSTC_WRAPPER RUSTC_WORKSPACE_WRAPPER RUSTFLAGS RUSTDOCFLAGS MAKEFLAGS MAKEFILES GNUMAKEFLAGS
	EDITOR VISUAL PAGER BROWSER SSH_ASKPASS SSH_AUTH_SOCK SUDO_ASKPASS TCLLIBPATH R_PROFILE R_PROFILE_USER R_ENVIRON JULIA_LOAD_PATH
	ELECTRON_RUN_AS_NODE OPENSSL_CONF OPENSSL_MODULES SSL_CERT_FILE SSL_CERT_DIR CURL_HOME WGETRC`

// Names that a run sets itself for each check.
const ownNames = `PATH HOME USER LOGNAME SHELL TMPDIR TMP TEMP PWD OLDPWD`

var forbiddenPrefixes = [...]struct{ prefix, reason string }{
	{"LD_", "it steers the program loader"},
	{"DYLD_", "it steers the program loader"},
	{"GIT_", "it steers git"},
	{"BASH_FUNC_", "it steers the shell"},
	{"NPM_CONFIG_", "it steers npm"},
	{"YARN_", "it steers yarn"},
	{"PIP_", "it steers pip"},
	{"UV_", "it steers uv"},
	{"CARGO_", "it steers cargo"},
	{"COR_", "it steers the .NET runtime"},
	{"CORECLR_", "it steers the .NET runtime"},
	{"GITHUB_", "it belongs to the Actions runner"},
	{"ACTIONS_", "it belongs to the Actions runner"},
	{"RUNNER_", "it belongs to the Actions runner"},
	{"INPUT_", "it belongs to the Actions runner"},
	{"GATESWORN_", "it belongs to the checker"},
	{"UNLAZY_", "it belongs to the checker"},
}

// EnvNameAllowed says whether a ledger's ENV or a policy's env may name a
// variable to be passed to checks, and if not, why: its form, what it would
// steer, or that it looks like a secret. The last is a tripwire and no
// guarantee. Names are compared without regard to case, as Windows does.
func EnvNameAllowed(name string) (reason string, ok bool) {
	if !validEnvName(name) {
		return "a name is letters, digits and _, and starts with no digit", false
	}
	upper := strings.ToUpper(name)
	if among(ownNames, upper) {
		return "every check gets one of its own", false
	}
	if among(loaderNames, upper) {
		return "it steers the programs that a check starts", false
	}
	for _, f := range forbiddenPrefixes {
		if strings.HasPrefix(upper, f.prefix) {
			return f.reason, false
		}
	}
	if word := secretWord(upper); word != "" {
		return fmt.Sprintf("it looks like a secret (%s)", word), false
	}
	return "", true
}

func validEnvName(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] != '_' && !alnum(s[i]) || i == 0 && s[i] >= '0' && s[i] <= '9' {
			return false
		}
	}
	return s != ""
}

// secretWord returns the part of an upper-case name that secrets usually carry.
func secretWord(upper string) string {
	for _, w := range [...]string{"TOKEN", "SECRET", "CREDENTIAL", "PASSW", "PASSPHRASE"} {
		if strings.Contains(upper, w) {
			return w
		}
	}
	for word := range strings.SplitSeq(upper, "_") {
		word = strings.TrimRight(word, "0123456789")
		switch word {
		case "AUTH", "OAUTH", "PAT", "PATS", "DSN", "KEYS", "CREDS", "PW", "PWD", "COOKIE":
			return word
		}
		if strings.HasSuffix(word, "KEY") || strings.HasPrefix(word, "PASS") {
			return word
		}
	}
	return ""
}

// among reports whether a list of words in one constant holds the word.
func among(list, word string) bool {
	for w := range strings.FieldsSeq(list) {
		if w == word {
			return true
		}
	}
	return false
}
