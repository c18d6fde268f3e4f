package runner

func checkerMain(args []string) int { return 2 }
