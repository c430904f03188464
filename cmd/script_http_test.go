package cmd

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"aiflow/internal/verify"
)

// cmdHTTP is a plain client. It waits until the server answers.
func cmdHTTP(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, len(args) == 3 || len(args) == 4, "http STATUS METHOD PATH [BODY]")
	body := ""
	if len(args) == 4 {
		body = args[3]
	}
	var res *http.Response
	until(ts, "an answer of the server", func() bool {
		var err error
		res, err = callServer(ts.MkAbs("."), neg, args[1], args[2], body)
		return err == nil
	})
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	ts.Check(err)
	fmt.Fprintf(ts.Stdout(), "%s", data)
	if _, err := verify.Answer(args[1], args[2], res.StatusCode, res.Header, data); err != nil {
		ts.Fatalf("%v\n%s", err, data)
	}
	if strconv.Itoa(res.StatusCode) != args[0] {
		ts.Fatalf("%s %s: %d %s", args[1], args[2], res.StatusCode, data)
	}
}

func callServer(dir string, anonymous bool, method, path, body string) (*http.Response, error) {
	data, err := os.ReadFile(filepath.Join(dir, ".aiflow", "cache", "serve.json"))
	if err != nil {
		return nil, err
	}
	var at struct {
		Port  int    `json:"port"`
		Token string `json:"token"`
	}
	if err := json.Unmarshal(data, &at); err != nil {
		return nil, err
	}
	r, err := http.NewRequest(method, fmt.Sprintf("http://127.0.0.1:%d%s", at.Port, path), strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	if !anonymous {
		r.Header.Set("Authorization", "Bearer "+at.Token)
	}
	return http.DefaultClient.Do(r)
}
