package server

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"testing"
)

// TestListSince changes files at random and asks for what changed: put into the
// list of before it makes the list of now, and nothing else is sent.
func TestListSince(t *testing.T) {
	files := map[string]string{}
	for i := range 40 {
		files[fmt.Sprintf("requests/RQ-%02d.md", i)] = request(fmt.Sprintf("title: Number %d\npriority: P%d\nstatus: ready\n", i, i%4), "")
	}
	w := newWorld(t, files)
	type answer struct {
		Items    []map[string]any `json:"items"`
		Revision string           `json:"revision"`
		Since    string           `json:"since"`
		Places   []int            `json:"places"`
		Gone     []string         `json:"gone"`
	}
	ask := func(since string) (a answer) {
		t.Helper()
		if err := json.Unmarshal(w.call(200, "GET", "/api/requests?since="+since, "").body, &a); err != nil {
			t.Fatal(err)
		}
		return a
	}
	before := ask("")
	if a := ask(before.Revision); a.Since != before.Revision || len(a.Items)+len(a.Gone) > 0 {
		t.Errorf("nothing changed: %+v", a)
	}
	w.call(304, "GET", "/api/requests", "", "If-None-Match", `"`+before.Revision+`"`)
	r := rand.New(rand.NewPCG(1, 2))
	for range 40 {
		path := fmt.Sprintf("requests/RQ-%02d.md", r.IntN(45))
		if r.IntN(4) == 0 {
			_ = os.Remove(w.path(path))
		} else {
			w.write(path, request(fmt.Sprintf("title: '\"rank\":null %d'\npriority: P%d\nstatus: %s\ndepends_on: [RQ-%02d]\n", r.IntN(3), r.IntN(4), []string{"ready", "draft", "done"}[r.IntN(3)], r.IntN(45)), ""))
		}
		patch, whole := ask(before.Revision), ask("")
		if patch.Since != before.Revision || patch.Revision != whole.Revision || whole.Since != "" || len(patch.Items) != len(patch.Places) {
			t.Fatalf("%+v", patch)
		}
		gone := map[any]bool{}
		for _, p := range patch.Gone {
			gone[p] = true
		}
		at := map[int]map[string]any{}
		for n, i := range patch.Items {
			gone[i["path"]], at[patch.Places[n]] = true, i
		}
		var kept, now []map[string]any
		for _, i := range before.Items {
			if !gone[i["path"]] {
				kept = append(kept, i)
			}
		}
		for n := range len(kept) + len(at) {
			if at[n] == nil {
				at[n], kept = kept[0], kept[1:]
			}
			now = append(now, at[n])
		}
		rank := 0.0
		for _, i := range now {
			if d := i["derived"].(map[string]any); d["queue_eligible"] == true {
				rank++
				d["rank"] = rank
			}
		}
		if !reflect.DeepEqual(now, whole.Items) {
			t.Fatalf("after %s: %v\nwant %v", path, now, whole.Items)
		}
		before = whole
	}
	for range pastListings {
		w.write("requests/RQ-00.md", request(fmt.Sprintf("title: %d\nstatus: draft\n", r.Int()), ""))
		ask("")
	}
	if a := ask(before.Revision); a.Since != "" || len(a.Items) == 0 {
		t.Errorf("what is forgotten is not told whole: %+v", a)
	}
	if a := ask(before.Revision + "&status=ready"); a.Since+a.Revision != "" {
		t.Errorf("a part has a revision: %+v", a)
	}
}

// TestListFirst asks for the beginning of a list: what can run by rank, and all that needs somebody.
func TestListFirst(t *testing.T) {
	files := map[string]string{"requests/RQ-x.md": "---\ntitle: [\n---\n"}
	for i := range 40 {
		files[fmt.Sprintf("requests/RQ-%02d.md", i)] = request(fmt.Sprintf("title: Number %d\npriority: P%d\nstatus: %s\nsteps:\n  - title: s\n    run: \"true\"\n", i, i%4, []string{"ready", "draft", "done", "archived"}[i/10]), "")
	}
	w := newWorld(t, files)
	ask := func(query string) (ids []string, revision any) {
		t.Helper()
		var a struct {
			Items    []struct{ ID string } `json:"items"`
			Revision *string               `json:"revision"`
		}
		if err := json.Unmarshal(w.call(200, "GET", "/api/requests"+query, "").body, &a); err != nil {
			t.Fatal(err)
		}
		for _, i := range a.Items {
			ids = append(ids, i.ID)
		}
		if a.Revision == nil {
			return ids, nil
		}
		return ids, *a.Revision
	}
	if ids, revision := ask("?first=3"); !reflect.DeepEqual(ids, []string{"RQ-x", "RQ-00", "RQ-04", "RQ-08"}) || revision != nil {
		t.Errorf("the first 3 are %v, revision %v", ids, revision)
	}
	if ids, _ := ask("?first=35"); len(ids) != 36 || ids[35] != "RQ-30" {
		t.Errorf("the first 35 are %v", ids)
	}
	for _, query := range []string{"?first=41", ""} {
		if ids, revision := ask(query); len(ids) != 41 || revision == nil {
			t.Errorf("%s: %d requests, revision %v; all are wanted", query, len(ids), revision)
		}
	}
	for _, first := range []string{"-1", "x", "1.5"} {
		w.call(400, "GET", "/api/requests?first="+first, "").wants("error.reason_code", "INVALID_REQUEST", "error.context.key", "first")
	}
}
