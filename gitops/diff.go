package gitops

// DiffOptions bound a diff. Zero values mean the defaults.
type DiffOptions struct {
	Context      int      // lines around a change; default 3, negative is none
	MaxFiles     int      // files with hunks; default 300
	MaxFileLines int      // lines of hunks per file; default 2000
	MaxLines     int      // lines of hunks in all; default 20000
	MaxFileBytes int64    // larger files are listed without hunks; default 1 MiB
	Paths        []string // only these files; default all
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
	Truncated bool   `json:"truncated,omitempty"` // hunks are missing or coarse
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
