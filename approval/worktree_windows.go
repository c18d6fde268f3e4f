package approval

// executableBits: a file's mode on disk says nothing about being executable.
const executableBits = false
