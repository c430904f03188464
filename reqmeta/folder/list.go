package folder

import (
	"io/fs"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"aiflow/internal/atomicfile"
	"aiflow/reqmeta"
)

// Stray is something that lies among the requests and is not read as one.
type Stray struct {
	Path string `json:"path"` // relative to the project's root; a folder ends in a slash
	Why  string `json:"why"`  // one of the constants
}

// Why something is no request.
const (
	StrayName    = "name"    // it begins with _ or ., or is a README
	StrayIgnored = "ignored" // a glob names it
	StrayEnding  = "ending"  // it is no markdown
	StrayLink    = "link"    // links to folders are not followed
	StrayNote    = "note"    // its head says no id, where ids_from is head
)

// shut is a folder that cannot be read.
type shut struct {
	path  string
	cause error
}

// lister collects the files of a folder and of those below it.
type lister struct {
	top    int    // length of what each path begins with
	prefix string // of the folder that is being listed
	ignore []string

	files   []file
	folders []string // found, to be listed later
	shut    []shut
	strays  []Stray
	temps   []string
}

// all lists the folder that is open as fd, and then those below it, in the
// order in which they were found.
func (l *lister) all(fd int) error {
	if err := l.one(fd, "."); err != nil {
		return err
	}
	for len(l.folders) > 0 {
		at := l.folders[0]
		l.folders, l.prefix = l.folders[1:], at+"/"
		if err := l.one(fd, at[l.top:]); err != nil {
			l.shut = append(l.shut, shut{at, err})
		}
	}
	return nil
}

// one lists one folder, in no order.
func (l *lister) one(fd int, name string) error {
	at, err := unix.Openat(fd, name, dirFlags, 0)
	if err != nil {
		return err
	}
	d := os.NewFile(uintptr(at), name)
	defer d.Close()
	entries, err := d.ReadDir(-1)
	l.files = slices.Grow(l.files, len(entries))
	for _, e := range entries {
		l.add(l.prefix+e.Name(), e.Type())
	}
	return err
}

// add takes one name; p is its path, prefix and all.
func (l *lister) add(p string, kind fs.FileMode) {
	name, wanted := p[len(l.prefix):], false
	switch {
	case reqmeta.IsRequestName(name):
		wanted = len(l.ignore) == 0 || !reqmeta.IsIgnored(p[l.top:], l.ignore)
		if !wanted {
			l.stray(p, StrayIgnored)
		}
	case atomicfile.IsTemp(name):
		l.temps = append(l.temps, p[l.top:])
	case kind == fs.ModeDir:
		l.folder(p, name)
	default:
		l.addStray(p, name, kind)
	}
	if !wanted {
		return
	}
	l.files = append(l.files, file{path: p, kind: kind})
}

func (l *lister) folder(p, name string) {
	switch {
	case reqmeta.IsHidden(name):
		l.stray(p+"/", StrayName)
	case reqmeta.IsIgnored(p[l.top:], l.ignore):
		l.stray(p+"/", StrayIgnored)
	default:
		l.folders = append(l.folders, strings.Clone(p))
	}
}

// addStray notes a file that is no request. The template is read by those who
// make requests, and nobody takes a hidden file of another kind for one.
func (l *lister) addStray(p, name string, kind fs.FileMode) {
	switch {
	case name == reqmeta.TemplateName && len(l.prefix) == l.top, name[0] == '.' && !reqmeta.IsMarkdown(name):
	case reqmeta.IsMarkdown(name) || reqmeta.IsHidden(name):
		l.stray(p, StrayName)
	case kind == fs.ModeSymlink:
		l.stray(p, StrayLink)
	default:
		l.stray(p, StrayEnding)
	}
}

func (l *lister) stray(p, why string) { l.strays = append(l.strays, Stray{strings.Clone(p), why}) }
