package server

import (
	"bufio"
	"crypto/rand"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"io"
	"net"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"
)

// The page in a second engine: Firefox, spoken to by WebDriver BiDi.
func TestPageInFirefox(t *testing.T) {
	w := newWorld(t, map[string]string{
		".gitignore":       "runs/\n.aiflow/\n",
		"requests/RQ-1.md": steps("Fails", "P0", "for i in $(seq 60); do echo line $i; done; echo broken >&2; exit 3"),
		"requests/RQ-2.md": steps("Works", "P1", "echo two > 2.txt"),
	})
	p := openFirefox(t)
	p.open(w.ts.URL + "/?token=" + token)
	p.until("document.querySelectorAll('.rq').length === 2")

	// Run and follow; it opens at its reason.
	p.do("void [...document.querySelectorAll('.rq [data-key=run]')][0].click()")
	p.until(needsInput)
	p.open(w.ts.URL + p.do("location.pathname"))
	p.until("document.querySelector('.tail .wrong')?.textContent.trim() === 'broken'")
	p.until("((r) => scrollY === 0 && r.top > 0 && r.bottom < innerHeight)(document.querySelector('.reason h2').getBoundingClientRect())")
	p.until("document.querySelector('.log-text')?.textContent.includes('line 60')")

	// The list follows what happens elsewhere; a diff is read.
	p.open(w.ts.URL + "/")
	p.until("document.querySelector('.lane.needs .last-line')?.textContent === 'broken'")
	run := w.call(202, "POST", "/api/requests/RQ-2/run", "{}").text("run_id")
	p.until("document.querySelector('.lane.merge .lane-title')?.textContent === 'Works'")
	p.open(w.ts.URL + "/requests/RQ-2/runs/" + run + "/diff")
	p.until("[...document.querySelectorAll('.tx.new')].some((e) => e.textContent === 'two')")

	// What is typed is saved under the lock.
	p.open(w.ts.URL + "/requests/RQ-2/edit")
	p.until("document.activeElement.tagName === 'TEXTAREA'")
	p.do("void ((a) => { a.focus(); a.setSelectionRange(a.value.length, a.value.length); document.execCommand('insertText', false, 'from the fox\\n'); })(document.querySelector('textarea.text'))")
	p.until("document.querySelector('.editor')?.dataset.state === 'saved'")
	if text := w.read("requests/RQ-2.md"); !strings.HasSuffix(text, "from the fox\n") {
		t.Errorf("saved: %s", text)
	}
	p.open(w.ts.URL + "/")
	p.do("void document.querySelector('[data-key=lang]').click()")
	p.until("document.documentElement.lang === 'ja'")
	if odd := p.do("JSON.stringify(odd)"); odd != "[]" {
		t.Errorf("in the page: %s", odd)
	}
	w.idle()
}

// fox is a tab of Firefox.
type fox struct {
	t   *testing.T
	c   net.Conn
	in  *bufio.Reader
	n   int
	tab string
}

func openFirefox(t *testing.T) *fox {
	t.Helper()
	bin, err := exec.LookPath("firefox-esr")
	if err != nil {
		t.Skip("firefox-esr is missing")
	}
	home := t.TempDir()
	cmd := exec.Command(bin, "--headless", "--no-remote", "--profile", home, "--remote-debugging-port", "0")
	cmd.Env = append(os.Environ(), "HOME="+home, "LANG=C.UTF-8")
	said, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_, _ = cmd.Process.Wait()
	})
	addr := ""
	lines := bufio.NewScanner(said)
	for addr == "" && lines.Scan() {
		if m := regexp.MustCompile(`WebDriver BiDi listening on ws://(\S+)`).FindStringSubmatch(lines.Text()); m != nil {
			addr = m[1]
		}
	}
	go func() { _, _ = io.Copy(io.Discard, said) }()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatalf("firefox: %v", err)
	}
	t.Cleanup(func() { _ = c.Close() })
	_ = c.SetDeadline(time.Now().Add(4 * time.Minute))
	p := &fox{t: t, c: c, in: bufio.NewReader(c)}
	if _, err := io.WriteString(c, "GET /session HTTP/1.1\r\nHost: "+addr+"\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: "+base64.StdEncoding.EncodeToString([]byte("a key of 16 byte"))+"\r\nSec-WebSocket-Version: 13\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	for first := true; ; first = false {
		line, err := p.in.ReadString('\n')
		if err != nil || first && !strings.Contains(line, "101") {
			t.Fatalf("firefox: %q %v", line, err)
		}
		if line == "\r\n" {
			break
		}
	}
	p.call("session.new", map[string]any{"capabilities": map[string]any{}})
	p.call("script.addPreloadScript", map[string]any{"functionDeclaration": "() => {" + watched + "}"})
	var made struct {
		Context string `json:"context"`
	}
	if err := json.Unmarshal(p.call("browsingContext.create", map[string]any{"type": "tab"}), &made); err != nil {
		t.Fatal(err)
	}
	p.tab = made.Context
	return p
}

// call sends a command and gives its result; events on the way are left.
func (p *fox) call(method string, params any) json.RawMessage {
	p.t.Helper()
	p.n++
	data, err := json.Marshal(map[string]any{"id": p.n, "method": method, "params": params})
	if err != nil {
		p.t.Fatal(err)
	}
	p.send(data)
	for {
		var v struct {
			ID      int             `json:"id"`
			Type    string          `json:"type"`
			Result  json.RawMessage `json:"result"`
			Message string          `json:"message"`
		}
		if err := json.Unmarshal(p.receive(), &v); err != nil {
			p.t.Fatal(err)
		}
		if v.ID != p.n {
			continue
		}
		if v.Type != "success" {
			p.t.Fatalf("%s: %s", method, v.Message)
		}
		return v.Result
	}
}

// send writes one text frame of RFC 6455, masked as a client must.
func (p *fox) send(data []byte) {
	p.t.Helper()
	frame := []byte{0x81}
	switch n := len(data); {
	case n < 126:
		frame = append(frame, 0x80|byte(n))
	case n < 1<<16:
		frame = binary.BigEndian.AppendUint16(append(frame, 0x80|126), uint16(n))
	default:
		frame = binary.BigEndian.AppendUint64(append(frame, 0x80|127), uint64(n))
	}
	var mask [4]byte
	_, _ = rand.Read(mask[:])
	frame = append(frame, mask[:]...)
	for i, b := range data {
		frame = append(frame, b^mask[i%4])
	}
	if _, err := p.c.Write(frame); err != nil {
		p.t.Fatal(err)
	}
}

// receive reads one message, in however many frames.
func (p *fox) receive() (text []byte) {
	p.t.Helper()
	for {
		var head [2]byte
		if _, err := io.ReadFull(p.in, head[:]); err != nil {
			p.t.Fatalf("firefox: %v", err)
		}
		n := uint64(head[1] & 0x7f)
		if wide := map[uint64]int{126: 2, 127: 8}[n]; wide > 0 {
			var long [8]byte
			if _, err := io.ReadFull(p.in, long[8-wide:]); err != nil {
				p.t.Fatal(err)
			}
			n = binary.BigEndian.Uint64(long[:])
		}
		part := make([]byte, n)
		if _, err := io.ReadFull(p.in, part); err != nil {
			p.t.Fatal(err)
		}
		switch head[0] & 0x0f {
		case 8:
			p.t.Fatalf("firefox ends: %q", part)
		case 9, 10: // it asks whether we are there: who asks for more, is
			continue
		}
		if text = append(text, part...); head[0]&0x80 != 0 {
			return text
		}
	}
}

func (p *fox) open(at string) {
	p.t.Helper()
	p.call("browsingContext.navigate", map[string]any{"context": p.tab, "url": at, "wait": "interactive"})
}

// do gives the text that js is.
func (p *fox) do(js string) string {
	p.t.Helper()
	var v struct {
		Type   string `json:"type"`
		Result struct {
			Value string `json:"value"`
		} `json:"result"`
		Exception struct {
			Text string `json:"text"`
		} `json:"exceptionDetails"`
	}
	result := p.call("script.evaluate", map[string]any{"expression": "(async () => String(await (" + js + ")))()", "target": map[string]any{"context": p.tab}, "awaitPromise": true})
	if err := json.Unmarshal(result, &v); err != nil || v.Type != "success" {
		p.t.Fatalf("%s: %v %s", js, err, v.Exception.Text)
	}
	return v.Result.Value
}

func (p *fox) until(js string) {
	p.t.Helper()
	if seen := p.do(`(async () => { for (const end = Date.now() + 120000; Date.now() < end;) {
		if (` + js + `) return ''; await new Promise((r) => setTimeout(r, 20)); }
		return location.pathname + '\n' + document.body.innerText.slice(0, 3000); })()`); seen != "" {
		p.t.Fatalf("never: %s\n%s", js, seen)
	}
}
