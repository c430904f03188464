package reqmeta

import (
	"cmp"
	"io/fs"
	"os"
	"slices"
)

// list gives the request files of the folder, sorted by name.
func list(_ int, dir string) ([]dirEntry, error) {
	d, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	all, err := d.ReadDir(-1)
	if err != nil {
		return nil, err
	}
	names := make([]dirEntry, 0, len(all))
	for _, e := range all {
		if isRequestName(e.Name()) {
			names = append(names, dirEntry{e.Name(), e.Type() & fs.ModeType})
		}
	}
	slices.SortFunc(names, func(a, b dirEntry) int { return cmp.Compare(a.name, b.name) })
	return names, nil
}
