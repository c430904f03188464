package project

import (
	"os"
	"path/filepath"
	"time"

	"aiflow/internal/atomicfile"
	"aiflow/internal/proc"
	"aiflow/reqmeta/folder"
)

// noWriteTakes as long as this, here or on another machine.
const noWriteTakes = 10 * time.Second

// SweepTemps removes from the requests folder, which git watches, what killed
// writers left half written there. It never stops anybody.
func (p *Project) SweepTemps(f *folder.Folder) {
	for _, name := range f.Temps {
		path := filepath.Join(p.Dir, filepath.FromSlash(f.Dir), name)
		fi, err := os.Lstat(path)
		if err != nil || !fi.Mode().IsRegular() || p.Now().Sub(fi.ModTime()) < noWriteTakes {
			continue
		}
		if pid, ok := atomicfile.Writer(name); ok && proc.Alive(pid, 0) == proc.Dead {
			_ = p.Env.Disk.Remove(path)
		}
	}
}
