package main

import (
	"context"
	"errors"
	"net"
	"net/url"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"syscall"

	"aiflow/cmd/internal/app"
	"aiflow/cmd/internal/cli"
	"aiflow/internal/fault"
	"aiflow/internal/proc"
	"aiflow/internal/term"
	"aiflow/project"
	"aiflow/project/serving"
	"aiflow/server"
)

func serve(s *cli.Shell, o options) error {
	if err := o.check(); err != nil {
		return err
	}
	p, err := app.Open(s, o.keys())
	if err != nil {
		return err
	}
	ctx, host := s.Context(), p.Config.Server.Host
	l, err := listen(ctx, host, p.Config.Server.Port)
	if err != nil {
		return err
	}
	defer l.Close()
	port := l.Addr().(*net.TCPAddr).Port
	token, leave, err := identify(s, p, o, host, port)
	if err != nil {
		return err
	}
	defer leave()
	if !server.IsLoopback(host) {
		s.Warn("serve.other_machines", fault.Facts{"host": host})
	}
	if token == "" {
		s.Warn("serve.no_auth", nil)
	}
	at := address(host, port, token)
	if err := announce(s, host, port, at); err != nil {
		return err
	}
	if o.open || p.Config.Server.OpenBrowser {
		open(s, at)
	}
	return server.New(server.Options{
		Project: p, Lang: s.Lang(), Host: host, Port: port, Token: token, Version: s.Version,
		RunBin: app.Beside("aiflow-run"), LandBin: app.Beside("aiflow-land"), HookBin: app.Lasting(app.Beside("aiflow-hook")), Log: s.Tell,
		QueueBin: app.Beside("aiflow-queue"), QueueEndpoint: o.queueEndpoint,
	}).Serve(ctx, l)
}

// check refuses a port out of range, and an endpoint that is no address of a
// server.
func (o options) check() error {
	if o.portSaid && (o.port < 0 || o.port > 65535) {
		return cli.Usage("bad_value", "name", "--port", "value", o.port, "allowed", "0..65535")
	}
	return cli.CheckEndpoint("--queue-endpoint", o.queueEndpoint)
}

// keys are the flags as configuration.
func (o options) keys() map[string]string {
	keys := map[string]string{}
	if o.portSaid {
		keys["server.port"] = strconv.Itoa(o.port)
	}
	if o.host != "" {
		keys["server.host"] = o.host
	}
	return keys
}

func listen(ctx context.Context, host string, port int) (net.Listener, error) {
	var c net.ListenConfig
	l, err := c.Listen(ctx, "tcp", net.JoinHostPort(host, strconv.Itoa(port)))
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fault.Wrap(err, fault.PortInUse, "host", host, "value", port)
	}
	if err != nil {
		return nil, cli.Usage("no_listen", "host", host, "port", port, "reason", innermost(err))
	}
	return l, nil
}

// innermost is the cause of err, without the calls on the way to it.
func innermost(err error) string {
	if dns, ok := errors.AsType[*net.DNSError](err); ok {
		return dns.Err
	}
	for next := err; next != nil; next = errors.Unwrap(next) {
		err = next
	}
	return err.Error()
}

// identify settles the token and says in serve.json where we are. leave gives
// the file back to the server that it named before, if that one still lives.
func identify(s *cli.Shell, p *project.Project, o options, host string, port int) (token string, leave func(), err error) {
	before, had := serving.Load(p)
	if !o.noAuth {
		if token, err = serving.TokenOf(p, o.newToken); err != nil {
			return "", nil, err
		}
	}
	id := serving.Identity{PID: os.Getpid(), Host: host, Port: port, Token: token, StartedAt: s.Now().UTC(), Build: p.Env.Build}
	if o.noAuth { // the token that open pages have is kept for the next time
		id.Token, _ = serving.TokenOf(p, false)
	}
	leave = func() {
		if !had || before.Port == port || before.Token != id.Token {
			return
		}
		if now, ok := serving.Load(p); ok && now.PID == id.PID && now.Port == port && before.Answers() {
			_ = serving.Save(p, before)
		}
	}
	return token, leave, serving.Save(p, id)
}

// address is what a person opens.
func address(host string, port int, token string) string {
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	u := url.URL{Scheme: "http", Host: net.JoinHostPort(host, strconv.Itoa(port)), Path: "/"}
	if token != "" {
		u.RawQuery = url.Values{"token": {token}}.Encode()
	}
	return u.String()
}

func announce(s *cli.Shell, host string, port int, at string) error {
	if s.JSON {
		if err := s.PrintJSON(struct {
			OK   bool   `json:"ok"`
			Host string `json:"host"`
			Port int    `json:"port"`
			URL  string `json:"url"`
		}{true, host, port, at}); err != nil {
			return err
		}
		return s.Flush()
	}
	if !s.Terminal() {
		s.Printf("AIFLOW_DEV_STARTED host=%s port=%d\n", term.Escape(host), port)
	}
	s.Printf("%s\n", at)
	return s.Flush()
}

// open shows the page in the browser, if that is easy.
func open(s *cli.Shell, at string) {
	command := "xdg-open"
	if runtime.GOOS == "darwin" {
		command = "open"
	}
	cmd := exec.Command(command, at)
	cmd.Env = proc.Apart(s.Environ())
	if err := cmd.Start(); err != nil {
		s.Warn("serve.no_browser", fault.Facts{"command": command})
		return
	}
	go func() { _ = cmd.Wait() }()
}
