package gate

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"encoding/hex"
	"io"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"aiflow/internal/config"
)

// Place says where git keeps what Judge looks at, so that the usual answer
// (nothing of ours is in this commit) needs no start of git.
type Place struct {
	GitDir string // of this worktree
	Index  string // what git calls GIT_INDEX_FILE, or the usual one
}

// untouched reports whether it is certain that this commit changes no request
// and adds no state file. git has just written the index and with it the names
// of its trees; where one of them, or HEAD's tree, cannot be had the plain way
// (packed, replaced, SHA-256, split index), nothing is certain.
func untouched(o Options) bool {
	if o.Place.GitDir == "" || o.Place.Index == "" || o.From != "" || o.merging() {
		return false
	}
	data, err := os.ReadFile(o.Place.Index)
	if err != nil {
		return false
	}
	tree, ok := indexTree(data)
	if !ok {
		return false
	}
	for _, dir := range o.StateDirs {
		if _, there, known := tree.at(dir); there || !known {
			return false
		}
	}
	common := o.Place.GitDir
	if text, err := os.ReadFile(filepath.Join(common, "commondir")); err == nil {
		common = strings.TrimRight(string(text), "\r\n")
		if !filepath.IsAbs(common) {
			common = filepath.Join(o.Place.GitDir, common)
		}
	}
	head := headTree(o.Place.GitDir, common)
	for _, dir := range append([]string{o.RequestsDir, o.PromptsDir, o.Root + path.Dir(config.File)}, o.DoneDirs...) {
		if !sameFolder(objects(common), head, tree, dir) {
			return false
		}
	}
	return true
}

// sameFolder compares a folder of a commit's tree with the index, name by name
// from the top: equal trees need no look inside.
func sameFolder(store objects, commit string, index cacheTree, dir string) bool {
	at := ""
	for _, name := range strings.Split(dir, "/") {
		at = strings.TrimPrefix(at+"/"+name, "/")
		old, ok := store.entry(commit, name)
		now, there, known := index.at(at)
		switch {
		case !ok || !known:
			return false
		case old == now:
			return true // both absent, or the same
		case old == "" || !there:
			return false
		}
		commit = old
	}
	return false
}

// cacheTree is the TREE extension: folder ("" is the top) to tree id; "" is
// not known.
type cacheTree map[string]string

// at gives a folder's tree. known is false when the index does not say.
func (t cacheTree) at(dir string) (id string, there, known bool) {
	id, there = t[dir]
	if there {
		return id, true, id != ""
	}
	for parent := dir; parent != ""; {
		if parent = filepath.Dir(parent); parent == "." {
			parent = ""
		}
		if id, ok := t[parent]; ok {
			return "", false, id != ""
		}
	}
	return "", false, false
}

const (
	idLen     = 20
	entryHead = 62 // of an entry, up to its name
)

// indexTree reads the TREE extension of an index file of version 2, 3 or 4.
func indexTree(data []byte) (cacheTree, bool) {
	if len(data) < 12+idLen || string(data[:4]) != "DIRC" {
		return nil, false
	}
	version, count := binary.BigEndian.Uint32(data[4:]), int(binary.BigEndian.Uint32(data[8:]))
	if version < 2 || version > 4 {
		return nil, false
	}
	body := data[:len(data)-idLen]
	at := 12
	for range count {
		if at = skipEntry(body, at, version); at < 0 {
			return nil, false
		}
	}
	return extensions(body[at:])
}

func skipEntry(body []byte, at int, version uint32) int {
	if at+entryHead+2 > len(body) {
		return -1
	}
	name := at + entryHead
	if body[at+60]&0x40 != 0 {
		name += 2
	}
	if version == 4 {
		for name < len(body) && body[name]&0x80 != 0 {
			name++
		}
		name++
	}
	if name > len(body) {
		return -1
	}
	end := bytes.IndexByte(body[name:], 0)
	if end < 0 {
		return -1
	}
	if version == 4 {
		return name + end + 1
	}
	if next := at + (name+end-at+8)/8*8; next <= len(body) {
		return next
	}
	return -1
}

func extensions(rest []byte) (cacheTree, bool) {
	var found cacheTree
	for len(rest) >= 8 {
		name, size := string(rest[:4]), int(binary.BigEndian.Uint32(rest[4:]))
		if size > len(rest)-8 || name[0] >= 'a' && name != "sdir" {
			return nil, false // torn, or changes what the entries mean
		}
		if name == "TREE" {
			found = cacheTree{}
			if left, ok := found.read(rest[8:8+size], ""); !ok || len(left) > 0 {
				return nil, false
			}
		}
		rest = rest[8+size:]
	}
	return found, found != nil && len(rest) == 0
}

// read reads "name NUL entries SP subtrees LF [id]" and the subtrees behind.
func (t cacheTree) read(data []byte, parent string) ([]byte, bool) {
	name, data, ok1 := bytes.Cut(data, []byte{0})
	numbers, data, ok2 := bytes.Cut(data, []byte("\n"))
	a, b, ok3 := strings.Cut(string(numbers), " ")
	entries, err1 := strconv.Atoi(a)
	subtrees, err2 := strconv.Atoi(b)
	if !ok1 || !ok2 || !ok3 || err1 != nil || err2 != nil || entries >= 0 && len(data) < idLen {
		return nil, false
	}
	dir, id := strings.TrimPrefix(parent+"/"+string(name), "/"), ""
	if entries >= 0 {
		id, data = hex.EncodeToString(data[:idLen]), data[idLen:]
	}
	t[dir] = id
	ok := true
	for i := 0; i < subtrees && ok; i++ {
		data, ok = t.read(data, dir)
	}
	return data, ok
}

// headTree is the tree of the commit that HEAD names; "" when it cannot be had
// the plain way.
func headTree(gitDir, common string) string {
	if _, err := os.Stat(filepath.Join(common, "refs", "replace")); err == nil {
		return ""
	}
	head, err := os.ReadFile(filepath.Join(gitDir, "HEAD"))
	id := strings.TrimSpace(string(head))
	if ref, ok := strings.CutPrefix(id, "ref: "); ok && err == nil && strings.HasPrefix(ref, "refs/heads/") {
		head, err = os.ReadFile(filepath.Join(common, filepath.FromSlash(ref)))
		id = strings.TrimSpace(string(head))
	}
	if err != nil {
		return ""
	}
	kind, commit, ok := objects(common).read(id)
	line, _, _ := strings.Cut(string(commit), "\n")
	tree, isTree := strings.CutPrefix(line, "tree ")
	if !ok || kind != "commit" || !isTree {
		return ""
	}
	return tree
}

// objects is a repository whose loose objects are read.
type objects string

const maxObject = 16 << 20

func (s objects) read(id string) (kind string, content []byte, ok bool) {
	if raw, err := hex.DecodeString(id); err != nil || len(raw) != idLen {
		return "", nil, false
	}
	f, err := os.Open(filepath.Join(string(s), "objects", id[:2], id[2:]))
	if err != nil {
		return "", nil, false
	}
	defer f.Close()
	z, err := zlib.NewReader(f)
	if err != nil {
		return "", nil, false
	}
	data, err := io.ReadAll(io.LimitReader(z, maxObject))
	head, content, found := bytes.Cut(data, []byte{0})
	kind, size, _ := strings.Cut(string(head), " ")
	n, numErr := strconv.Atoi(size)
	return kind, content, err == nil && found && numErr == nil && n == len(content)
}

// entry finds a folder in a tree: "" when there is none of that name.
func (s objects) entry(tree, name string) (id string, ok bool) {
	kind, data, ok := s.read(tree)
	if !ok || kind != "tree" {
		return "", false
	}
	for len(data) > 0 {
		head, rest, found := bytes.Cut(data, []byte{0})
		mode, entry, _ := strings.Cut(string(head), " ")
		if !found || len(rest) < idLen {
			return "", false
		}
		if entry == name {
			return hex.EncodeToString(rest[:idLen]), mode == "40000"
		}
		data = rest[idLen:]
	}
	return "", true
}
