package hooks

import (
	"fmt"

	"aiflow/internal/fault"
)

func removeOne(f Folder, o Options, hook string) Action {
	file, aside := f.Hooks[hook], f.Asides[hook]
	if f.Dir == "" || f.Husky || !file.Exists && !aside.Exists {
		return Action{Kind: Keep, Reason: ReasonNothing}
	}
	if file.Err != nil {
		return refuse(ReasonUnreadable, fault.Facts{"cause": file.Err.Error()})
	}
	b, err := parse(file.Data)
	a := Action{}
	switch {
	case err != nil:
		return refuse(ReasonBroken, nil)
	case !file.Exists:
		a = Action{Kind: Restore}
	case (b == nil || b.hook != hook) && aside.Exists: // another has taken the place of what we moved aside
		return Action{Kind: Keep, Reason: ReasonAsideLeft, Facts: fault.Facts{"path": aside.Path}}
	case b == nil || b.hook != hook:
		return Action{Kind: Keep, Reason: ReasonNothing}
	default:
		a = removeBlock(o, b, file, aside)
	}
	if reason, facts := f.closed(o); reason != "" && a.Kind != Refuse {
		return refuse(reason, facts)
	}
	a.seen, a.aside = file, aside
	return f.unwritable(a)
}

func removeBlock(o Options, b *block, file, aside File) Action {
	facts := fault.Facts{"line": fmt.Sprint(b.line), "version": fmt.Sprint(b.version)}
	switch {
	case !b.pristine && b.version <= Version && !o.Force:
		return refuse(ReasonEdited, facts)
	case file.Link != "":
		return refuse(ReasonUnreadable, fault.Facts{"cause": "symbolic link to " + file.Link})
	case b.place == placeAdded:
		return Action{Kind: Strip, text: b.without(file.Data), mode: file.Mode.Perm()}
	case b.alone(file.Data) && aside.Exists:
		return Action{Kind: Restore}
	case b.alone(file.Data):
		return Action{Kind: Remove}
	case b.place == placeChained && aside.Exists:
		return refuse(ReasonAroundEdited, fault.Facts{"path": aside.Path})
	}
	return Action{Kind: Strip, text: b.without(file.Data), mode: file.Mode.Perm()}
}

// removeElsewhere finds what is ours where git does not look, or no longer:
// the repository's own folder when core.hooksPath was set later, and files
// that a hook manager moved aside.
func removeElsewhere(f Folder, o Options) []Action {
	var all []Action
	for _, hook := range Names() {
		for _, file := range []File{f.Legacy[hook], f.Old[hook]} {
			b, err := parse(file.Data)
			reason, _ := f.closed(o)
			if err != nil || b == nil || file.Err != nil || reason != "" {
				continue
			}
			a := removeBlock(o, b, file, f.Asides[hook])
			a.Hook, a.Path, a.seen, a.aside = hook, file.Path, file, f.Asides[hook]
			all = append(all, f.unwritable(a))
		}
	}
	if f.Default != nil {
		for _, a := range PlanRemoval(*f.Default, o) {
			if a.Kind != Keep {
				all = append(all, a)
			}
		}
	}
	return all
}
