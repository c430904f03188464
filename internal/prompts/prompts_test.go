package prompts

import (
	"regexp"
	"slices"
	"testing"
)

var placeRE = regexp.MustCompile(`\{\{[a-z0-9_]+\}\}`)

func TestBothLanguagesHaveTheSamePlaces(t *testing.T) {
	for _, name := range Names() {
		ja, en := placeRE.FindAllString(Default("ja", name), -1), placeRE.FindAllString(Default("en", name), -1)
		if !slices.Equal(ja, en) || len(en) == 0 && name != HowEdit {
			t.Errorf("%s: %v in ja, %v in en", name, ja, en)
		}
	}
	if Default("fr", "qa") != Default("en", "qa") {
		t.Error("another language is not English")
	}
}

func TestFill(t *testing.T) {
	got := Fill("{{a}} {{b}} {{c}} {a}", map[string]string{"a": "{{b}}", "b": "B"})
	if got != "{{b}} B {{c}} {a}" {
		t.Error(got)
	}
	if !Has("x {{a}}", "a") || Has("x {a}", "a") {
		t.Error("Has")
	}
}
