package locks

import "path/filepath"

// KeyOf tells which lock a file is, by its name alone; ok is false for what is
// no lock of ours.
func KeyOf(path string) (k Key, ok bool) { return keyOf(filepath.Base(path)) }
