package choose

import (
	"aiflow/reqmeta"

	"aiflow/reqmeta/folder"
)

// maxGuessed is for how many of its missing dependencies a request is told what was
// probably meant.
const maxGuessed = 5

// lost are the dependencies of an exclusion that no request has.
type lost struct {
	ids   []string
	among *folder.Folder
}

// meant is what they probably were to be; "" when nobody can say.
func (l *lost) meant(by string) string {
	var list []string
	for _, id := range l.ids[:min(len(l.ids), maxGuessed)] {
		if m := l.among.Meant(id, by); m != "" {
			list = append(list, m)
		}
	}
	return reqmeta.Join(distinct(list))
}
