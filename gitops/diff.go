package gitops

import (
	"cmp"
	"context"
	"time"
)

// DiffOptions bound a diff. Zero values mean the defaults.
type DiffOptions struct {
	Context      int           // lines around a change; default 3, negative is none
	MaxFiles     int           // files with hunks; default 300, negative is none
	MaxFileLines int           // lines of hunks per file; default 2000
	MaxLines     int           // lines of hunks in all; default 20000
	MaxFileBytes int64         // a file with a larger side is listed without hunks; default 1 MiB
	MaxLineBytes int           // longer lines are cut; default 4096
	Effort       time.Duration // for one file; then its hunks get coarse; default 300 ms
	Paths        []string      // only these files and folders; default all
}

func (o DiffOptions) defaults() DiffOptions {
	o.Context = cmp.Or(o.Context, 3)
	o.MaxFiles = cmp.Or(o.MaxFiles, 300)
	o.MaxFileLines = cmp.Or(o.MaxFileLines, 2000)
	o.MaxLines = cmp.Or(o.MaxLines, 20000)
	o.MaxLineBytes = cmp.Or(o.MaxLineBytes, 4096)
	o.Context, o.MaxFiles = max(o.Context, 0), max(o.MaxFiles, 0)
	o.MaxFileBytes = cmp.Or(o.MaxFileBytes, 1<<20)
	o.Effort = cmp.Or(o.Effort, 300*time.Millisecond)
	return o
}

// Diff is what changed between two commits. Its JSON is part of the API.
type Diff struct {
	Base      string     `json:"base"`
	Head      string     `json:"head"`
	Stat      DiffStat   `json:"stat"`
	Truncated bool       `json:"truncated"`
	Files     []FileDiff `json:"files"`
}

// DiffStat counts files and lines, also of what was left out.
type DiffStat struct {
	Files     int `json:"files"`
	Additions int `json:"additions"`
	Deletions int `json:"deletions"`
}

// FileDiff is one changed file.
type FileDiff struct {
	Path      string `json:"path"`
	OldPath   string `json:"old_path,omitempty"`
	Status    Status `json:"status"`
	Additions int    `json:"additions"`
	Deletions int    `json:"deletions"`
	Binary    bool   `json:"binary,omitempty"`
	Submodule bool   `json:"submodule,omitempty"`
	OldMode   string `json:"old_mode,omitempty"` // both only when the mode changed
	NewMode   string `json:"new_mode,omitempty"`
	Truncated bool   `json:"truncated,omitempty"` // something is left out
	Hunks     []Hunk `json:"hunks"`
}

// Hunk is a run of changed lines with their surroundings.
type Hunk struct {
	OldStart int    `json:"old_start"`
	OldLines int    `json:"old_lines"`
	NewStart int    `json:"new_start"`
	NewLines int    `json:"new_lines"`
	Lines    []Line `json:"lines"`
}

// Line is one line of a hunk, without its end of line.
type Line struct {
	Op   string `json:"op"` // " ", "+" or "-"
	Text string `json:"text"`
	NoNL bool   `json:"no_newline,omitempty"` // the file ends here without an end of line
}

// Diff compares the trees of two commits. For what a branch did since it was
// made, compare with their merge base.
func (r *reader) Diff(ctx context.Context, from, to string, o DiffOptions) (Diff, error) {
	from, to, err := r.commits(ctx, from, to)
	if err != nil {
		return Diff{}, err
	}
	changed, err := r.changed(ctx, from, to, o.Paths)
	if err != nil {
		return Diff{}, err
	}
	b := builder{r: r, o: o.defaults(), d: Diff{Base: from, Head: to, Files: []FileDiff{}}}
	if err := b.load(ctx, changed); err != nil {
		return Diff{}, err
	}
	for i, e := range changed {
		if err := ctx.Err(); err != nil {
			return Diff{}, err
		}
		b.add(e, i < b.reach())
	}
	return b.d, nil
}

// builder puts a Diff together within its bounds.
type builder struct {
	r     *reader
	o     DiffOptions
	d     Diff
	blobs map[string][]byte
	large map[string]bool // over MaxFileBytes
	bytes int64           // of the content that was read
	shown int             // files with hunks
	lines int             // lines of hunks
}

func (b *builder) add(e entry, loaded bool) {
	f := FileDiff{
		Path: e.Path, OldPath: e.OldPath, Status: e.Status, Additions: e.Added, Deletions: e.Deleted, Binary: e.Binary,
		Submodule: e.Submodule, Hunks: []Hunk{},
	}
	if e.ModeChange {
		f.OldMode, f.NewMode = e.OldMode, e.NewMode
	}
	switch {
	case e.oldHash == e.newHash:
	case !loaded, b.shown >= b.o.MaxFiles, b.large[e.oldHash], b.large[e.newHash]:
		f.Truncated = true
	default:
		b.compare(&f, e)
	}
	b.d.Truncated = b.d.Truncated || f.Truncated
	b.d.Files = append(b.d.Files, f)
	b.d.Stat.Files++
	b.d.Stat.Additions += f.Additions
	b.d.Stat.Deletions += f.Deletions
}

func (b *builder) compare(f *FileDiff, e entry) {
	old, now := b.side(e.OldMode, e.oldHash), b.side(e.NewMode, e.newHash)
	if f.Binary = isBinary(old) || isBinary(now); f.Binary {
		return
	}
	b.shown++
	edits := diffLines(old, now, b.o.Effort)
	f.Additions, f.Deletions = countLines(edits)
	room := min(b.o.MaxFileLines, b.o.MaxLines-b.lines)
	var used int
	f.Hunks, used, f.Truncated = hunks(edits, b.o.Context, room, b.o.MaxLineBytes)
	b.lines += used
}

// side is one side's content; a submodule's is the line that git shows.
func (b *builder) side(mode, hash string) []byte {
	switch mode {
	case absent:
		return nil
	case gitlink:
		return []byte("Subproject commit " + hash + "\n")
	}
	return b.blobs[hash]
}
