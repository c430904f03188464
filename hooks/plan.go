package hooks

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"strings"

	"aiflow/internal/fault"
)

// Kind says what happens to one hook.
type Kind string

// What Plan and PlanRemoval decide.
const (
	Install Kind = "install" // a new file
	Upgrade Kind = "upgrade" // other text of ours is renewed
	Add     Kind = "add"     // our block goes into a stranger's sh hook
	Chain   Kind = "chain"   // the stranger's hook moves aside and ours calls it
	Remove  Kind = "remove"  // our file goes
	Strip   Kind = "strip"   // our block goes, the rest stays
	Restore Kind = "restore" // ours goes, the stranger's comes back
	Keep    Kind = "keep"    // nothing to do
	Refuse  Kind = "refuse"  // nothing is done, and Reason says why
)

// Reasons of actions and of states; each has a text under "hook.reason_<reason>".
const (
	ReasonCalled       = "called"        // a hook manager's own file calls us
	ReasonNothing      = "nothing"       // nothing of ours is there
	ReasonCurrent      = "current"       // ours, and up to date
	ReasonManaged      = "managed"       // works, but the manager rewrites this file
	ReasonInTree       = "in_tree"       // works, but the file belongs to the work tree
	ReasonCRLF         = "crlf"          // git cannot start a file with CRLF line ends
	ReasonShared       = "shared"        // folder shared by several repositories
	ReasonOff          = "off"           // core.hooksPath switches hooks off
	ReasonHusky        = "husky"         // husky regenerates this folder
	ReasonNotFolder    = "not_folder"    // the hooks folder is a file
	ReasonReadOnly     = "read_only"     // the hooks folder cannot be written to
	ReasonUnreadable   = "unreadable"    // the hook cannot be read
	ReasonBroken       = "broken"        // our marks do not enclose one block
	ReasonEdited       = "edited"        // somebody changed our lines
	ReasonNewer        = "newer"         // a newer aiflow wrote it
	ReasonAsideExists  = "aside_exists"  // the place to move a hook to is taken
	ReasonKnowsName    = "knows_name"    // the hook looks at its own file name
	ReasonAroundEdited = "around_edited" // lines were added to a file that is ours
	ReasonAsideLeft    = "aside_left"    // a moved hook stays, another took its place
)

// Action is one decision. Facts belong to the reason.
type Action struct {
	Kind   Kind        `json:"kind"`
	Hook   string      `json:"hook"`
	Path   string      `json:"path"`
	Reason string      `json:"reason,omitempty"`
	Facts  fault.Facts `json:"facts,omitempty"`

	seen, aside File // what the decision rests on
	text        []byte
	mode        fs.FileMode
}

// Options are the choices of a person.
type Options struct {
	Bin       string    // absolute path of aiflow-hook
	IfMissing IfMissing // "": what is there stays, else Block
	Global    bool      // a folder shared by several repositories may be written to
	Force     bool      // our own lines may be renewed or removed even when edited
}

// Plan decides what installing does to every hook. It changes nothing.
func Plan(f Folder, o Options) []Action {
	return each(f, o, planOne)
}

// PlanRemoval decides what uninstalling does to every hook. It changes nothing.
func PlanRemoval(f Folder, o Options) []Action {
	actions := each(f, o, removeOne)
	return append(actions, removeElsewhere(f, o)...)
}

func each(f Folder, o Options, one func(Folder, Options, string) Action) []Action {
	var all []Action
	for _, hook := range Names() {
		a := one(f, o, hook)
		if a.Path == "" {
			a.Path = f.Hooks[hook].Path
		}
		if a.Path == "" {
			a.Path = filepath.Join(f.defaultDir(), hook)
		}
		a.Hook = hook
		all = append(all, a)
	}
	return all
}

func refuse(reason string, facts fault.Facts) Action {
	return Action{Kind: Refuse, Reason: reason, Facts: facts}
}

func planOne(f Folder, o Options, hook string) Action {
	if path := f.caller(hook); path != "" {
		return Action{Kind: Keep, Path: path, Reason: ReasonCalled}
	}
	if reason, facts := f.closed(o); reason != "" {
		return refuse(reason, facts)
	}
	file := f.Hooks[hook]
	if file.Err != nil {
		return refuse(ReasonUnreadable, fault.Facts{"cause": file.Err.Error()})
	}
	var a Action
	b, err := parse(file.Data)
	switch {
	case err != nil:
		return refuse(ReasonBroken, nil)
	case b != nil && b.hook == hook:
		a = upgrade(f, o, b, file)
	case !file.Exists:
		a = fresh(f, o, hook)
	case shapeOf(file) == shapeSh: // not a byte of theirs changes
		a = Action{Kind: Add, text: insert(file.Data, render(o.params(hook, placeAdded))), mode: file.Mode.Perm()}
		if m := manager(file.Data); m == "lefthook" || m == "pre-commit" {
			a.Reason, a.Facts = ReasonManaged, fault.Facts{"name": m}
		} else if f.InTree {
			a.Reason, a.Facts = ReasonInTree, fault.Facts{"path": file.Path}
		}
	default:
		a = chain(f, o, hook, file)
	}
	a.seen = file
	return f.unwritable(a)
}

// closed says why nothing at all may be written to the hooks folder.
func (f Folder) closed(o Options) (string, fault.Facts) {
	switch {
	case f.Dir == "":
		return ReasonOff, f.settingFacts()
	case f.Husky:
		return ReasonHusky, fault.Facts{"path": filepath.Dir(f.Dir)}
	case f.NotDir:
		return ReasonNotFolder, fault.Facts{"dir": f.Dir}
	case f.Shared && !o.Global:
		return ReasonShared, fault.Facts{"dir": f.Dir}
	}
	return "", nil
}

func (f Folder) settingFacts() fault.Facts {
	if f.Setting == nil {
		return nil
	}
	return fault.Facts{"key": "core.hooksPath", "value": f.Setting.Value, "path": strings.TrimPrefix(f.Setting.Origin, "file:")}
}

func (f Folder) unwritable(a Action) Action {
	if a.Kind == Keep || a.Kind == Refuse || f.Writable {
		return a
	}
	return refuse(ReasonReadOnly, fault.Facts{"dir": f.Dir})
}

// fresh makes a file of our own. A hook that was moved aside and is still
// there belongs to it.
func fresh(f Folder, o Options, hook string) Action {
	p := o.params(hook, placeNew)
	if f.Asides[hook].Exists {
		p.place = placeChained
	}
	a := Action{Kind: Install, text: []byte(wholeFile(p)), mode: 0o777}
	if f.InTree {
		a.Reason, a.Facts = ReasonInTree, fault.Facts{"path": f.Hooks[hook].Path}
	}
	return a
}

func (o Options) params(hook string, where place) params {
	return params{hook: hook, place: where, bin: o.Bin, miss: cmp.Or(o.IfMissing, Block)}
}

// upgrade renews a block of ours where it stands.
func upgrade(f Folder, o Options, b *block, file File) Action {
	p := o.params(b.hook, b.place)
	if o.IfMissing == "" {
		p.miss = b.miss
	}
	text := render(p)
	facts := fault.Facts{"line": fmt.Sprint(b.line), "version": fmt.Sprint(b.version)}
	switch {
	case b.version > Version:
		return refuse(ReasonNewer, facts)
	case !b.pristine && !o.Force:
		return refuse(ReasonEdited, facts)
	case string(file.Data[b.start:b.end]) == text && !b.crlf && file.Mode&0o111 != 0:
		return Action{Kind: Keep, Reason: ReasonCurrent}
	case file.Link != "":
		return refuse(ReasonUnreadable, fault.Facts{"cause": "symbolic link to " + file.Link})
	}
	a := Action{Kind: Upgrade, Facts: facts, text: b.with(file.Data, text), mode: executable(file.Mode)}
	if b.crlf {
		a.Reason = ReasonCRLF
	}
	return a
}

// executable adds the right to execute for everybody who may read.
func executable(m fs.FileMode) fs.FileMode {
	return m.Perm() | (m.Perm()&0o444)>>2
}

// chain moves a stranger's hook aside, for ours to call it.
func chain(f Folder, o Options, hook string, file File) Action {
	aside := f.Asides[hook]
	switch {
	case aside.Exists:
		return refuse(ReasonAsideExists, fault.Facts{"path": aside.Path})
	case looksAtName().Match(file.Data) && file.Mode&0o111 != 0: // it decides by its own name what to do
		return refuse(ReasonKnowsName, fault.Facts{"path": file.Path})
	}
	text := wholeFile(o.params(hook, placeChained))
	return Action{Kind: Chain, aside: aside, text: []byte(text), mode: executable(file.Mode), Facts: fault.Facts{"path": aside.Path, "cause": string(shapeOf(file))}}
}

// Refused is the first refusal among actions, as a fault.
func Refused(actions []Action) error {
	for _, a := range actions {
		if a.Kind == Refuse {
			code, facts := fault.HookRefused, fault.Facts{"path": a.Path, "reason": a.Reason, "name": a.Hook}
			if a.Reason == ReasonReadOnly || a.Reason == ReasonUnreadable || a.Reason == ReasonNotFolder {
				code = fault.PathNotWritable
			}
			maps.Copy(facts, a.Facts)
			return &fault.Error{Code: code, Facts: facts}
		}
	}
	return nil
}

var errChanged = errors.New("changed meanwhile")
