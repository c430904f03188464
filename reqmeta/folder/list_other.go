//go:build !linux

package folder

import (
	"io/fs"
	"os"
)

func (l *lister) run(_ int, dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	all, err := d.ReadDir(-1)
	if err != nil {
		return err
	}
	for _, e := range all {
		l.add(l.prefix+e.Name(), e.Type()&fs.ModeType)
	}
	return nil
}
