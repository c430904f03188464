package powercut

import (
	"bytes"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
)

// Before gives what was safely on disk before the first operation; nil, false
// for what was not there.
type Before func(path string) ([]byte, bool)

// Left is what a power cut left of the files that were touched: their bytes,
// nil for a file that is not there.
type Left map[string][]byte

// inode is a file whatever its names are.
type inode struct {
	data []byte
	safe bool
}

// past is what the operations made of the files.
type past struct {
	before Before
	now    map[string]*inode   // what a name means for those who look
	may    map[string][]*inode // what it may mean after the cut, the safe one first
	dirs   map[string]bool     // a directory whose own name is safe
}

// Cut makes one of the states that a power cut after ops may leave. made says
// which directories were made by the process; such a one is lost with all that
// is in it unless the directory that it stands in was synced.
func Cut(ops []Op, before Before, made func(dir string) bool, rng *rand.Rand) Left {
	p := &past{before: before, now: map[string]*inode{}, may: map[string][]*inode{}, dirs: map[string]bool{}}
	for _, op := range ops {
		p.do(op)
	}
	left := Left{}
	lost := map[string]bool{}
	for _, path := range slices.Sorted(maps.Keys(p.may)) {
		if p.isLost(filepath.Dir(path), made, lost, rng) {
			left[path] = nil
			continue
		}
		names := p.may[path]
		left[path] = names[rng.IntN(len(names))].after(rng)
	}
	return left
}

func (p *past) isLost(dir string, made func(string) bool, lost map[string]bool, rng *rand.Rand) bool {
	if !made(dir) {
		return false
	}
	if gone, known := lost[dir]; known {
		return gone
	}
	gone := p.isLost(filepath.Dir(dir), made, lost, rng) || !p.dirs[dir] && rng.IntN(2) == 0
	lost[dir] = gone
	return gone
}

// at is what a name means now.
func (p *past) at(path string) *inode {
	n, ok := p.now[path]
	if !ok {
		if data, there := p.before(path); there {
			n = &inode{data: data, safe: true}
		}
		p.now[path], p.may[path] = n, []*inode{n}
	}
	return n
}

func (p *past) set(path string, n *inode) {
	p.at(path)
	p.now[path] = n
	p.may[path] = append(p.may[path], n)
}

func (p *past) do(op Op) {
	switch op.Do {
	case Create:
		p.set(op.Path, &inode{})
	case Write:
		if n := p.at(op.Path); n != nil {
			n.data, n.safe = append(bytes.Clone(n.data), op.Data...), false
		}
	case Sync:
		if n := p.at(op.Path); n != nil {
			n.safe = true
		}
	case Rename:
		if n := p.at(op.Path); p.at(op.To) != n { // else it does nothing
			p.set(op.To, n)
			p.set(op.Path, nil)
		}
	case Link:
		p.set(op.To, p.at(op.Path))
	case Remove:
		p.set(op.Path, nil)
	case SyncDir:
		p.sync(op)
	}
}

func (p *past) sync(op Op) {
	for path, n := range p.now {
		if filepath.Dir(path) == op.Path {
			p.may[path] = []*inode{n}
		}
	}
	for _, name := range op.Dirs {
		p.dirs[filepath.Join(op.Path, name)] = true
	}
}

// after is what is left of the bytes.
func (n *inode) after(rng *rand.Rand) []byte {
	if n == nil {
		return nil
	}
	whole := append([]byte{}, n.data...)
	if n.safe {
		return whole
	}
	cut := rng.IntN(len(whole) + 1)
	switch rng.IntN(5) {
	case 0:
		return whole
	case 1:
		return []byte{}
	case 2:
		return whole[:cut]
	case 3:
		return append(whole[:cut], make([]byte, len(n.data)-cut)...)
	}
	for i := cut; i < len(whole); i++ {
		whole[i] = byte(rng.IntN(256))
	}
	return whole
}

// Without leaves operations out, as a program would that forgot them.
func Without(ops []Op, do string) []Op {
	return slices.DeleteFunc(slices.Clone(ops), func(op Op) bool { return op.Do == do })
}

// Apply makes the files on disk what the cut left, directories that it took
// with it included.
func (l Left) Apply() error {
	for path, data := range l {
		if data == nil {
			if err := os.RemoveAll(path); err != nil {
				return err
			}
			continue
		}
		mode := os.FileMode(0o666)
		if st, err := os.Stat(path); err == nil {
			mode = st.Mode().Perm()
		}
		if err := os.Remove(path); err != nil && !os.IsNotExist(err) { // it may be a second name of another
			return err
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			return err
		}
		if err := os.WriteFile(path, data, mode); err != nil {
			return err
		}
	}
	return nil
}
