package reqmeta

// Cause is what is wrong in the same way with one file, or with several.
type Cause struct {
	Problem           // the first
	Also    []Problem // the others
}

// Causes puts problems of one level and one message together, in the order in
// which each comes first. They must have been described.
func Causes(list []Problem) []Cause {
	type key struct {
		level   Level
		message string
	}
	var causes []Cause
	at := map[key]int{}
	for _, p := range list {
		k := key{p.Level, p.Message}
		if i, ok := at[k]; ok {
			causes[i].Also = append(causes[i].Also, p)
			continue
		}
		at[k] = len(causes)
		causes = append(causes, Cause{Problem: p})
	}
	return causes
}

// FilesOf is how many files the problems are in.
func FilesOf(list []Problem) int {
	paths := map[string]bool{}
	for _, p := range list {
		paths[p.Path] = true
	}
	return len(paths)
}
