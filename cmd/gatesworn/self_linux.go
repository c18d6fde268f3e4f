package main

// selfPath starts this very program again, also after its file was replaced.
const selfPath = "/proc/self/exe"
