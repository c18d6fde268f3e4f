//go:build !linux

package runner

func peakMemory() int { return -1 }
