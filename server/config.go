package server

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"strings"

	"aiflow/internal/atomicfile"
	"aiflow/internal/config"
	"aiflow/internal/fault"
	"aiflow/locks"
)

// configAnswer is the configuration: the file as it is, and what holds.
type configAnswer struct {
	Path          string          `json:"path"`
	Config        json.RawMessage `json:"config"` // {} when there is no file
	Values        []configValue   `json:"values"`
	Warnings      []string        `json:"warnings"`
	RestartNeeded bool            `json:"restart_needed"` // this server still goes by other values
}

type configValue struct {
	Key    string          `json:"key"`
	Value  json.RawMessage `json:"value"`
	Origin configOrigin    `json:"origin"`
}

type configOrigin struct {
	Kind  string `json:"kind"`
	Where string `json:"where"`
}

func showConfig(s *Server, w http.ResponseWriter, r *http.Request) error {
	data, err := configFile(s)
	if err != nil {
		return err
	}
	cfg, warnings, err := loadConfig(s, "")
	if err != nil {
		return err
	}
	return giveConfig(s, w, r, data, cfg, warnings)
}

// configPath is the file that is read; --config names another than usual.
func configPath(s *Server) string {
	name := s.Project.Env.Config
	switch {
	case name == "":
		return s.Project.Path(config.File)
	case filepath.IsAbs(name):
		return name
	}
	return filepath.Join(s.Project.Env.Dir, name)
}

func configFile(s *Server) ([]byte, error) {
	data, err := os.ReadFile(configPath(s))
	if errors.Is(err, fs.ErrNotExist) {
		return []byte("{}"), nil
	}
	if err != nil {
		return nil, fault.Wrap(err, fault.ConfigInvalid, "path", config.File)
	}
	return data, nil
}

// loadConfig reads the configuration as a run would; path is another file to
// read it from, "" the usual one.
func loadConfig(s *Server, path string) (config.Config, []config.Warning, error) {
	env := s.Project.Env
	src := config.Sources{Env: env.Getenv, Path: env.Config, Dir: env.Dir}
	if path != "" {
		src.Path = path
	}
	return config.Load(s.Project.Dir, src)
}

func giveConfig(s *Server, w http.ResponseWriter, r *http.Request, data []byte, cfg config.Config, warnings []config.Warning) error {
	v := configAnswer{Path: config.File, Config: data, Values: []configValue{}, Warnings: []string{}}
	for _, one := range cfg.Values() {
		v.Values = append(v.Values, configValue{one.Key, json.RawMessage(one.Text), configOrigin{one.Origin.Kind, one.Origin.Where}})
	}
	for _, one := range warnings {
		v.Warnings = append(v.Warnings, s.words(r).Text("config."+one.Kind, one.Facts))
	}
	v.RestartNeeded = !reflect.DeepEqual(cfg.Paths, s.Project.Config.Paths) || cfg.Limits.LockTTLSec != s.Project.Config.Limits.LockTTLSec ||
		cfg.Git.WorkBranchPrefix != s.Project.Config.Git.WorkBranchPrefix
	w.Header().Set("ETag", etag(data))
	return give(w, http.StatusOK, v)
}

type configBody struct {
	Config json.RawMessage `json:"config"`
}

// writeConfig replaces the file by one that is valid.
func writeConfig(s *Server, w http.ResponseWriter, r *http.Request, b configBody) error {
	if len(b.Config) == 0 {
		return invalid("config")
	}
	var text bytes.Buffer
	if err := json.Indent(&text, b.Config, "", "  "); err != nil {
		return invalidFor(err, "config")
	}
	text.WriteByte('\n')
	s.edits.Lock()
	defer s.edits.Unlock()
	old, err := configFile(s)
	if err != nil {
		return err
	}
	if want := r.Header.Get("If-Match"); want != "" && !matches(want, etag(old)) {
		return conflict(config.File)
	}
	cfg, warnings, err := tryConfig(s, text.Bytes())
	if err != nil {
		return err
	}
	path := configPath(s)
	err = os.MkdirAll(filepath.Dir(path), 0o777)
	if err == nil {
		err = atomicfile.Write(s.Project.Env.Disk, path, text.Bytes(), atomicfile.Options{TempSuffix: s.Project.Suffix()})
	}
	if err != nil {
		return fault.NotWritable(err, config.File)
	}
	return giveConfig(s, w, r, text.Bytes(), cfg, warnings)
}

// tryConfig reads the text as a run would read the file.
func tryConfig(s *Server, text []byte) (config.Config, []config.Warning, error) {
	f, err := os.CreateTemp("", "aiflow-config-*.json")
	if err != nil {
		return config.Config{}, nil, fault.NotWritable(err, config.File)
	}
	defer os.Remove(f.Name())
	_, err = f.Write(text)
	if err = cmp.Or(err, f.Close()); err != nil {
		return config.Config{}, nil, fault.NotWritable(err, config.File)
	}
	cfg, warnings, err := loadConfig(s, f.Name())
	if e, ok := fault.As(err); ok {
		e.Facts["path"] = config.File
	}
	for _, one := range warnings {
		one.Facts["path"] = strings.ReplaceAll(one.Facts["path"], f.Name(), config.File)
	}
	return cfg, warnings, err
}

func listLocks(s *Server, w http.ResponseWriter, r *http.Request) error {
	entries, err := entries(s)
	if err != nil {
		return err
	}
	return give(w, http.StatusOK, struct {
		Items []locks.Item `json:"items"`
	}{locks.Items(s.Project.Dir, entries)})
}
