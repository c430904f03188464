package config

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestPublishedTables keeps the tables in docs/configuration.md and docs/router.md the same as
// the tables of the code.
func TestPublishedTables(t *testing.T) {
	c := Default()
	for path, table := range map[string]struct{ name, text string }{
		"../../docs/configuration.md": {"keys", markdown(keys(), &c)},
		"../../docs/router.md":        {"router", markdown[Router](routerKeys(), nil)},
	} {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		want := between(t, string(data), table.name, table.text)
		if *update {
			if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if string(data) != want {
			t.Errorf("%s is not what the tables say; go test ./internal/config -run Published -update", path)
		}
	}
}

// between puts text between "<!-- name begin" and "<!-- name end".
func between(t *testing.T, page, name, text string) string {
	t.Helper()
	begin := strings.Index(page, "<!-- "+name+" begin")
	end := strings.Index(page, "<!-- "+name+" end")
	if begin < 0 || end < begin {
		t.Fatalf("no place for %s", name)
	}
	begin += strings.IndexByte(page[begin:], '\n') + 1
	return page[:begin] + text + page[end:]
}

func markdown[T any](rows []row[T], defaults *T) string {
	var b strings.Builder
	if defaults != nil {
		b.WriteString("| key | default | allowed | meaning |\n|---|---|---|---|\n")
	} else {
		b.WriteString("| key | allowed | meaning |\n|---|---|---|\n")
	}
	for _, r := range rows {
		fmt.Fprintf(&b, "| %s ", strings.ReplaceAll(r.key, "*", `\*`))
		if defaults != nil && r.get == nil {
			b.WriteString("| ")
		} else if defaults != nil {
			fmt.Fprintf(&b, "| %s ", shownDefault(r, defaults))
		}
		fmt.Fprintf(&b, "| %s | %s |\n", r.rangeText(), r.about)
	}
	return b.String()
}

func shownDefault[T any](r row[T], defaults *T) string {
	switch text := asJSON(r.get(defaults)); {
	case r.key == "tests.static.timeout_sec":
		return "600"
	case r.key == "tests.e2e.timeout_sec":
		return "limits.timeout_sec, at least 300"
	case r.key == "tests.unit.timeout_sec":
		return "limits.timeout_sec"
	case strings.HasPrefix(r.key, "tests.") && strings.HasSuffix(r.key, ".enabled"):
		return "whether there is a command"
	default:
		return "`" + text + "`"
	}
}
