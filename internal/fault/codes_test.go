package fault

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"testing"
)

func TestCodesListsEveryConstant(t *testing.T) {
	listed := map[Code]bool{}
	for _, c := range Codes() {
		if listed[c] {
			t.Errorf("%s is listed twice", c)
		}
		listed[c] = true
	}
	for _, c := range declared(t) {
		if !listed[c] {
			t.Errorf("%s is declared but not listed by Codes", c)
		}
	}
	if len(declared(t)) != len(listed) {
		t.Errorf("%d declared, %d listed", len(declared(t)), len(listed))
	}
}

func declared(t *testing.T) []Code {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), "codes.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var codes []Code
	ast.Inspect(f, func(n ast.Node) bool {
		v, ok := n.(*ast.ValueSpec)
		if !ok || len(v.Values) != 1 {
			return true
		}
		if id, ok := v.Type.(*ast.Ident); ok && id.Name == "Code" {
			s, _ := strconv.Unquote(v.Values[0].(*ast.BasicLit).Value)
			codes = append(codes, Code(s))
		}
		return true
	})
	return codes
}

func TestEveryCodeButTwoHasItsOwnRow(t *testing.T) {
	internal := Code("no such code").Info()
	for _, c := range Codes() {
		info := c.Info()
		if info.Category == "" || info.Severity == "" || info.HTTP == 0 {
			t.Errorf("%s: incomplete row %+v", c, info)
		}
		if info == internal && c != InternalError && c != UnknownError && c != StageWriteFailed && c != StageUnreadable {
			t.Errorf("%s falls through to the row of unknown codes", c)
		}
	}
}

func TestExitStatus(t *testing.T) {
	for _, tc := range []struct {
		err  error
		want int
	}{
		{errors.New("x"), 9},
		{New(RequestNotFound), 2},
		{New(GitNotRepo), 3},
		{New(RunInProgress), 4},
		{New(JSONParseError), 5},
		{New(GitCommitFailed), 6},
		{New(UnitTestFailed), 7},
		{New(StepCommandFailed), 8},
		{Wrap(New(UnitTestFailed), QueueInProgress), 4},
	} {
		if got := CodeOf(tc.err).Info().Exit; got != tc.want {
			t.Errorf("%v ends with %d, want %d", tc.err, got, tc.want)
		}
	}
}

func TestFaultKeepsCauseAndFacts(t *testing.T) {
	cause := errors.New("boom")
	err := Wrap(cause, StageWriteFailed, "path", "a b")
	if !errors.Is(err, cause) || !errors.Is(err, New(StageWriteFailed)) || errors.Is(err, New(LockHeld)) {
		t.Errorf("errors.Is is wrong for %v", err)
	}
	if got := err.Error(); got != `STAGE_WRITE_FAILED cause="boom" path="a b"` {
		t.Errorf("Error() = %s", got)
	}
}
