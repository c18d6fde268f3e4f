//go:build !linux

package main

// selfPath is empty where slots do not exist: the runner then stops process groups.
const selfPath = ""
