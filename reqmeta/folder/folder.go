package folder

import (
	"cmp"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"aiflow/internal/fault"
	"aiflow/internal/near"
	"aiflow/reqmeta"
)

// Folder is all requests of a project, sorted by file name. Treat it as read
// only.
type Folder struct {
	Root, Dir string // Dir is relative to Root, with slashes
	Requests  []*reqmeta.Request
	Temps     []string // files that somebody is writing, or was when he was killed; relative to Dir
	NotRead   []Stray  // what lies among the requests and is none

	byID    map[string]int32   // by id in lower case: the index of the first that has it
	twins   map[string][]int32 // further ones, whose ids differ only by case
	dups    map[string][]int32 // ids that several files have: their indexes
	flawed  []*reqmeta.Request // those that have problems
	vague   map[string]int32   // ids that broken files may have, whose heads do not say: their indexes
	names   map[string]string  // other names of files, as paths and as ids: the path that counts
	mapping *reqmeta.Mapping
	beside  []string                           // folders of what is done
	done    func() map[string]*reqmeta.Request // by id, what is done in folders beside this one, read when it is asked
	read    int                                // how many files were opened to make it
	keep    func()                             // writes the cache; nil when that is not worth it
}

// prefix is what every path begins with.
func (f *Folder) prefix() string {
	if f.Dir == "." {
		return ""
	}
	return f.Dir + "/"
}

// NewFolder makes a folder of requests that were parsed elsewhere (the files
// of a git tree, say). dir is the requests folder, relative to the root.
func NewFolder(dir string, requests []*reqmeta.Request) *Folder {
	f := &Folder{Dir: dir, Requests: requests}
	slices.SortFunc(f.Requests, func(a, b *reqmeta.Request) int { return cmp.Compare(a.Path, b.Path) })
	f.index()
	return f
}

// leaveNotes takes out what is no request.
func (f *Folder) leaveNotes() {
	f.Requests = slices.DeleteFunc(f.Requests, func(r *reqmeta.Request) bool {
		if r.IsNote() {
			f.NotRead = append(f.NotRead, Stray{Path: r.Path, Why: StrayNote})
		}
		return r.IsNote()
	})
	slices.SortFunc(f.NotRead, func(a, b Stray) int { return cmp.Compare(a.Path, b.Path) })
}

// index finds duplicate ids and ids that differ only by case, and says so in
// the problems of every file concerned.
func (f *Folder) index() {
	f.byID = make(map[string]int32, len(f.Requests))
	alone := true
	for i, r := range f.Requests {
		if len(r.Problems) > 0 {
			f.flawed = append(f.flawed, r)
		}
		alone = f.insert(int32(i)) && alone
	}
	if !alone {
		f.tellDups()
	}
	f.guessIDs()
}

// guessIDs notes which ids a broken file may have: what its head says of that
// cannot be read, and a file may have more in its name than its id.
func (f *Folder) guessIDs() {
	if len(f.flawed) == 0 {
		return
	}
	f.vague = map[string]int32{}
	for i, r := range f.Requests {
		if r.Meta.ID != "" || r.Meta.Status != "" || r.Valid() {
			continue
		}
		for name, at := r.ID, strings.LastIndexByte(r.ID, '-'); at > 0; at = strings.LastIndexByte(name, '-') {
			name = name[:at]
			if _, ok := f.vague[name]; !ok {
				f.vague[name] = int32(i)
			}
		}
	}
}

// tellDups says in the problems of files that they share an id.
func (f *Folder) tellDups() {
	for id, members := range f.dups {
		paths := reqmeta.Join(f.paths(members))
		for _, i := range members {
			f.Requests[i].FailAs(fault.DuplicateID, "duplicate_id", "id", id, "paths", paths)
		}
	}
	f.flawed = f.flawed[:0]
	for _, r := range f.Requests {
		if len(r.Problems) > 0 {
			f.flawed = append(f.flawed, r)
		}
	}
}

// Flawed are the requests that have problems: errors or warnings.
func (f *Folder) Flawed() []*reqmeta.Request { return f.flawed }

// insert reports whether no other request has that id, in any case.
func (f *Folder) insert(i int32) bool {
	r := f.Requests[i]
	var room [128]byte
	key := string(appendLower(room[:0], r.ID))
	first, taken := f.byID[key]
	if !taken {
		f.byID[key] = i
		return true
	}
	if same := f.find(r.ID); same >= 0 {
		f.addDup(same, i)
		return false
	}
	if f.twins == nil {
		f.twins = map[string][]int32{}
	}
	f.twins[key] = append(f.twins[key], i)
	o := f.Requests[first]
	r.Warn("id_case", 0, "id", r.ID, "other", o.ID, "other_path", o.Path)
	o.Warn("id_case", 0, "id", o.ID, "other", r.ID, "other_path", r.Path)
	return false
}

func (f *Folder) addDup(first, i int32) {
	id := f.Requests[i].ID
	if f.dups == nil {
		f.dups = map[string][]int32{}
	}
	if f.dups[id] == nil {
		f.dups[id] = []int32{first}
	}
	f.dups[id] = append(f.dups[id], i)
}

// Index is the place in Requests of the first with that id, or else of one whose
// file is broken and may have it; -1 for none.
func (f *Folder) Index(id string) int32 {
	if n := f.find(id); n >= 0 {
		return n
	}
	if n, ok := f.vague[id]; ok {
		return n
	}
	return -1
}

// find gives the first request with exactly that id; -1 for none.
func (f *Folder) find(id string) int32 {
	var room [128]byte
	key := appendLower(room[:0], id)
	i, ok := f.byID[string(key)]
	if !ok {
		return -1
	}
	if f.Requests[i].ID == id {
		return i
	}
	for _, i := range f.twins[string(key)] {
		if f.Requests[i].ID == id {
			return i
		}
	}
	return -1
}

// appendLower appends an id in lower case; ids are ASCII.
func appendLower(b []byte, id string) []byte {
	for i := range len(id) {
		c := id[i]
		if c >= 'A' && c <= 'Z' {
			c += 'a' - 'A'
		}
		b = append(b, c)
	}
	return b
}

func (f *Folder) paths(members []int32) []string {
	paths := make([]string, len(members))
	for k, i := range members {
		paths[k] = f.Requests[i].Path
	}
	return paths
}

// Beside says which folders hold what is done and no longer among the requests:
// what is there fulfils what depends on it.
func (f *Folder) Beside(dirs []string) {
	if len(dirs) == 0 {
		return
	}
	f.beside = dirs
	f.done = sync.OnceValue(func() map[string]*reqmeta.Request {
		done := map[string]*reqmeta.Request{}
		for _, dir := range dirs {
			there, err := Cache{Mapping: f.mapping}.Load(f.Root, dir)
			if err != nil {
				continue // it is not there yet
			}
			for _, r := range there.Requests {
				done[r.ID] = r
			}
		}
		return done
	})
}

// Holds reports whether a path, whose links have been followed, is one of the folders
// in which this project's requests are, lies in one, or has one in it.
func (f *Folder) Holds(at string) bool {
	for _, dir := range append([]string{f.Dir}, f.beside...) {
		own, err := filepath.EvalSymlinks(filepath.Join(f.Root, filepath.FromSlash(dir)))
		if err == nil && (strings.HasPrefix(at+"/", own+"/") || strings.HasPrefix(own+"/", strings.TrimSuffix(at, "/")+"/")) {
			return true
		}
	}
	return false
}

// DoneBeside reports whether an id is done in one of these folders.
func (f *Folder) DoneBeside(id string) bool { return f.PathBeside(id) != "" }

// BesideIDs are the ids that are done there.
func (f *Folder) BesideIDs() []string {
	if f.done == nil {
		return nil
	}
	return slices.Sorted(maps.Keys(f.done()))
}

// RequestsBeside are the requests in these folders, in the order of their ids.
func (f *Folder) RequestsBeside() (there []*reqmeta.Request) {
	for _, id := range f.BesideIDs() {
		there = append(there, f.done()[id])
	}
	return there
}

// PathBeside is the file that has an id in one of these folders; "" for none.
func (f *Folder) PathBeside(id string) string {
	if f.done != nil {
		if r := f.done()[id]; r != nil {
			return r.Path
		}
	}
	return ""
}

// IsDuplicate reports whether several files have that id.
func (f *Folder) IsDuplicate(id string) bool { return len(f.dups) > 0 && f.dups[id] != nil }

// PathsOf are the files that have an id that several have.
func (f *Folder) PathsOf(id string) []string { return f.paths(f.dups[id]) }

// Unique is the one request with exactly that id; nil when there is none, or
// more than one.
func (f *Folder) Unique(id string) *reqmeta.Request {
	if i := f.Index(id); i >= 0 && !f.IsDuplicate(id) {
		return f.Requests[i]
	}
	return nil
}

// Get finds a request by id, by path (as in Path, or the bare file name), or by
// an id prefix that only one id has. It fails with REQUEST_NOT_FOUND (fact
// "similar" names what may be meant) or DUPLICATE_ID (fact "paths").
func (f *Folder) Get(id string) (*reqmeta.Request, error) {
	switch n := f.find(id); {
	case n >= 0 && f.dups[id] != nil:
		return nil, fault.New(fault.DuplicateID, "id", id, "paths", reqmeta.Join(f.paths(f.dups[id])))
	case n >= 0:
		return f.Requests[n], nil
	case f.names[id] != "":
		id = f.names[id]
	}
	if reqmeta.IsMarkdown(id) {
		if r := f.byPath(strings.TrimPrefix(strings.TrimPrefix(id, "./"), f.prefix())); r != nil {
			return r, nil
		}
	}
	return f.byPrefix(id)
}

// byPath finds the request with that path in the folder, or else the only one
// whose file has that name.
func (f *Folder) byPath(p string) *reqmeta.Request {
	var named []*reqmeta.Request
	for _, r := range f.Requests {
		if r.Path == f.prefix()+p || r.Path == f.names[f.prefix()+p] {
			return r
		}
		if path.Base(r.Path) == p {
			named = append(named, r)
		}
	}
	if len(named) == 1 {
		return named[0]
	}
	return nil
}

func (f *Folder) byPrefix(prefix string) (*reqmeta.Request, error) {
	var found []*reqmeta.Request
	for _, r := range f.Requests {
		if prefix != "" && strings.HasPrefix(r.ID, prefix) {
			found = append(found, r)
		}
	}
	if len(found) == 1 {
		return found[0], nil
	}
	facts := []any{"similar", reqmeta.Join(f.similar(prefix, found))}
	if len(found) > 1 {
		facts = append(facts, "count", len(found))
	}
	return nil, notFound(nil, prefix, facts...)
}

func notFound(err error, id string, more ...any) error {
	return fault.Wrap(err, fault.RequestNotFound, append(more, "id", id)...)
}

const maxSimilar = 5

// similar gives the ids that may be meant by id, nearest first.
func (f *Folder) similar(id string, prefixed []*reqmeta.Request) []string {
	type guess struct {
		id string
		d  int
	}
	var list []guess
	for _, r := range prefixed {
		list = append(list, guess{r.ID, 0})
	}
	want := strings.ToLower(id)
	for _, r := range f.Requests {
		if len(prefixed) > 0 || id == "" {
			break
		}
		have := strings.ToLower(r.ID)
		d := near.Distance(want, have, 2)
		if len(want) >= 3 && strings.Contains(have, want) {
			d = min(d, 2)
		}
		if d <= 2 && d < len(want) {
			list = append(list, guess{r.ID, d})
		}
	}
	slices.SortFunc(list, func(a, b guess) int { return cmp.Or(cmp.Compare(a.d, b.d), cmp.Compare(a.id, b.id)) })
	ids := make([]string, 0, maxSimilar)
	for _, n := range list {
		if len(ids) < maxSimilar && !slices.Contains(ids, n.id) {
			ids = append(ids, n.id)
		}
	}
	return ids
}
