//go:build !windows

package runner

var systemNames, systemTemp [0]string

func systemName(name string) string { return name }
