package draw

import (
	"strings"

	"aiflow/reqmeta"
	"aiflow/reqmeta/folder"
)

// made is a folder of requests: "id status dep,dep key: value; key: value".
func made(lines ...string) *folder.Folder {
	var list []*reqmeta.Request
	for _, line := range lines {
		f := strings.SplitN(line, " ", 4)
		text := "---\nstatus: " + f[1] + "\npriority: P1\n"
		if len(f) > 2 && f[2] != "-" {
			text += "depends_on: [" + f[2] + "]\n"
		}
		if len(f) > 3 {
			text = strings.Replace(text, "priority: P1\n", "", 1) + strings.ReplaceAll(f[3], "; ", "\n") + "\n"
		}
		list = append(list, reqmeta.Parse("requests/"+f[0]+".md", []byte(text+"---\n")))
	}
	return folder.NewFolder("requests", list)
}
