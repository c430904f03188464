package choose

import (
	"encoding/json"
	"testing"

	"aiflow/reqmeta/folder"
)

func graphFolder() *folder.Folder {
	return made(
		"a done", "b ready a", "c ready b,nope", "d ready e", "e ready d", "f draft a,a",
		"g archived", "h blocked g",
		`x ready - title: '<b>"&amp; \ `+"`"+` # end</b>'; priority: P0`,
		"y ready - title: \"a\\e[31m\u202eb\"",
	)
}

func TestGraph(t *testing.T) {
	n := Graph(graphFolder(), Facts{})
	got, _ := json.Marshal(n.Edges)
	want := `[{"from":"b","to":"a","state":"done"},{"from":"c","to":"b","state":"waiting"},{"from":"c","to":"nope","state":"missing"},` +
		`{"from":"d","to":"e","state":"cycle"},{"from":"e","to":"d","state":"cycle"},{"from":"f","to":"a","state":"done"},{"from":"h","to":"g","state":"waiting"}]`
	if string(got) != want {
		t.Errorf("edges %s", got)
	}
	derived := ""
	for _, node := range n.Nodes {
		derived += node.ID + ":" + node.Derived + " "
	}
	if derived != "a:DONE b:RUNNABLE c:DEPENDS_NOT_FOUND d:DEPENDS_CYCLE e:DEPENDS_CYCLE f:NOT_READY g:ARCHIVED h:NOT_READY x:RUNNABLE y:RUNNABLE " {
		t.Errorf("nodes %s", derived)
	}
}
