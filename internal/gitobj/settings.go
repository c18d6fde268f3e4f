package gitobj

import "iter"

// All yields every setting in the order of the file: its name as git prints it,
// section and key in lower case (remote.origin.url), and its value, "true" for a
// setting without one.
func (c Config) All() iter.Seq2[string, string] {
	return func(yield func(name, value string) bool) {
		for _, s := range c.settings {
			name, value := s.section+"."+s.key, s.value
			if s.sub != "" {
				name = s.section + "." + s.sub + "." + s.key
			}
			if s.bare {
				value = "true"
			}
			if !yield(name, value) {
				return
			}
		}
	}
}
