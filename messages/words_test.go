package messages

import (
	"regexp"
	"strings"
	"testing"
)

// verbatim are sentences that the specification gives word for word.
var verbatim = map[string]bool{
	"同一RequestのRunが実行中です":         true,
	"必要なら doctor(full) でロック回収を実施": true,
}

// One thing has one name in Japanese (docs/style.md); names of commands and keys stand in
// backticks or are followed by Latin letters.
func TestJapaneseHasOneWordForEach(t *testing.T) {
	const ja = `[\p{Hiragana}\p{Katakana}\p{Han}]`
	wrong := regexp.MustCompile(`依頼|設置|終了ステータス|フォルダ([^ー]|$)|リポジトリ([^ー]|$)|\b(Requests?|Runs?|Steps?)\b ?` + ja + `|` + ja + ` ?\b(request|run|Request|Run|Step)\b ?` + ja)
	code := regexp.MustCompile("`[^`]*`")
	for _, text := range japanese(t) {
		if found := wrong.FindString(code.ReplaceAllString(text, "``")); found != "" && !verbatim[text] {
			t.Errorf("%q in %q", strings.TrimSpace(found), text)
		}
	}
}

func japanese(t *testing.T) []string {
	t.Helper()
	var all []string
	for _, area := range areas(t, "ja") {
		for _, text := range load(t, "ja", area) {
			all = append(all, text)
		}
	}
	for _, e := range readCodes("ja") {
		all = append(append(all, e.Title, e.Summary), e.Actions...)
	}
	return all
}
