package gitobj

// applyDelta makes an object of at most max bytes from its base and a delta:
// the two sizes, then copies from the base and insertions (gitformat-pack(5)).
func applyDelta(base, delta []byte, max int64) ([]byte, error) {
	from, delta, ok1 := deltaSize(delta)
	to, delta, ok2 := deltaSize(delta)
	if !ok1 || !ok2 || from != int64(len(base)) {
		return nil, corrupt("delta header")
	}
	if to > max {
		return nil, overMax("object", to, max)
	}
	// What is claimed is allocated only up to what the parts can produce cheaply.
	out := make([]byte, 0, min(to, int64(len(base)+len(delta))))
	for len(delta) > 0 {
		op := delta[0]
		delta = delta[1:]
		var part []byte
		var ok bool
		switch {
		case op&0x80 != 0:
			part, delta, ok = deltaCopy(op, base, delta)
		case op != 0 && int(op) <= len(delta):
			part, delta, ok = delta[:op], delta[op:], true
		}
		if !ok || int64(len(out)+len(part)) > to {
			return nil, corrupt("delta instruction")
		}
		out = append(out, part...)
	}
	if int64(len(out)) != to {
		return nil, corrupt("delta: size of the result")
	}
	return out, nil
}

// deltaSize reads a size, 7 bits a byte, lowest first.
func deltaSize(b []byte) (size int64, rest []byte, ok bool) {
	for i := 0; i < len(b) && i < 8; i++ {
		size |= int64(b[i]&0x7f) << (7 * i)
		if b[i]&0x80 == 0 {
			return size, b[i+1:], true
		}
	}
	return 0, nil, false
}

// deltaCopy reads the offset (4 bytes) and size (3 bytes) of which op's bits say
// what is written down, and returns that part of base.
func deltaCopy(op byte, base, delta []byte) (part, rest []byte, ok bool) {
	var v [7]int64
	for i := range v {
		if op>>i&1 == 0 {
			continue
		}
		if len(delta) == 0 {
			return nil, nil, false
		}
		v[i], delta = int64(delta[0]), delta[1:]
	}
	at := v[0] | v[1]<<8 | v[2]<<16 | v[3]<<24
	size := v[4] | v[5]<<8 | v[6]<<16
	if size == 0 {
		size = 0x10000
	}
	if at+size > int64(len(base)) {
		return nil, nil, false
	}
	return base[at : at+size], delta, true
}
