package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"strconv"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// mostLine is how long a message may be.
const mostLine = 16 << 20

// lines is a connection with a message on each line. The SDK's own ends with the
// first line that is none, and with its input drops what it has not answered yet.
type lines struct {
	in   chan line
	out  io.Writer
	text func(key string, facts ...any) string

	mu       sync.Mutex
	open     map[jsonrpc.ID]bool // asked and not answered
	answered *sync.Cond
	closed   chan struct{}
	close    func()
}

type line struct {
	text []byte
	long bool
}

func newLines(in io.Reader, out io.Writer, text func(string, ...any) string) *lines {
	c := &lines{in: make(chan line), out: out, text: text, open: map[jsonrpc.ID]bool{}, closed: make(chan struct{})}
	c.answered = sync.NewCond(&c.mu)
	c.close = sync.OnceFunc(func() { close(c.closed) })
	go c.readAll(bufio.NewReaderSize(in, 1<<16))
	return c
}

func (c *lines) readAll(r *bufio.Reader) {
	defer close(c.in)
	for {
		var l line
		for more := true; more; {
			part, rest, err := r.ReadLine()
			if err != nil {
				return
			}
			if l.long = l.long || len(l.text)+len(part) > mostLine; !l.long {
				l.text = append(l.text, part...)
			}
			more = rest
		}
		select {
		case c.in <- l:
		case <-c.closed:
			return
		}
	}
}

// Connect makes it a transport, too.
func (c *lines) Connect(context.Context) (mcp.Connection, error) { return c, nil }

func (c *lines) SessionID() string { return "" }

func (c *lines) Close() error {
	c.close()
	c.mu.Lock()
	c.answered.Broadcast()
	c.mu.Unlock()
	return nil
}

// Read gives the next message and answers what is none.
func (c *lines) Read(ctx context.Context) (jsonrpc.Message, error) {
	for {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-c.closed:
			return nil, io.EOF
		case l, more := <-c.in:
			if !more {
				c.wait()
				return nil, io.EOF
			}
			if len(l.text) == 0 && !l.long {
				continue
			}
			msg, code, why := c.message(l)
			if why == "" {
				return msg, nil
			}
			if err := c.refuse(l.text, code, why); err != nil {
				return nil, err
			}
		}
	}
}

// wait ends when all that was read is answered, or nobody listens any more.
func (c *lines) wait() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.open) > 0 {
		select {
		case <-c.closed:
			return
		default:
			c.answered.Wait()
		}
	}
}

// message is what a line says, or how JSON-RPC calls its mistake and why it is one.
func (c *lines) message(l line) (msg jsonrpc.Message, code int, why string) {
	if l.long {
		return nil, jsonrpc.CodeInvalidRequest, c.text("mcp.line_long", "count", mostLine)
	}
	if !json.Valid(l.text) {
		return nil, jsonrpc.CodeParseError, c.text("mcp.line_json")
	}
	if oddID(l.text) {
		return nil, jsonrpc.CodeInvalidRequest, c.text("mcp.line_odd_id")
	}
	msg, err := jsonrpc.DecodeMessage(l.text)
	if err != nil {
		return nil, jsonrpc.CodeInvalidRequest, c.text("mcp.line_message")
	}
	switch m := msg.(type) {
	case *jsonrpc.Response:
		if m.Result == nil && m.Error == nil {
			return nil, jsonrpc.CodeInvalidRequest, c.text("mcp.line_message")
		}
	case *jsonrpc.Request:
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.open[m.ID] {
			return nil, jsonrpc.CodeInvalidRequest, c.text("mcp.line_id")
		}
		if m.IsCall() && m.Method != "subscriptions/listen" { // which is answered when it ends
			c.open[m.ID] = true
		}
	}
	return msg, 0, ""
}

// oddID reports whether a message has a number as its id that the SDK would answer
// as another one: it takes each for an int64.
func oddID(text []byte) bool {
	var asked struct {
		ID json.RawMessage `json:"id"`
	}
	if json.Unmarshal(text, &asked) != nil || len(asked.ID) == 0 || asked.ID[0] != '-' && (asked.ID[0] < '0' || asked.ID[0] > '9') {
		return false
	}
	_, err := strconv.ParseInt(string(asked.ID), 10, 64)
	return err != nil
}

// refuse answers a line that is no message, with its id where it has one.
func (c *lines) refuse(text []byte, code int, why string) error {
	var asked struct {
		ID any `json:"id"`
	}
	if !oddID(text) {
		_ = json.Unmarshal(text, &asked)
	}
	id, err := jsonrpc.MakeID(asked.ID)
	if err != nil {
		id = jsonrpc.ID{}
	}
	data, err := json.Marshal(map[string]any{
		"jsonrpc": "2.0", "id": id.Raw(), "error": map[string]any{"code": code, "message": why},
	})
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	_, err = c.out.Write(append(data, '\n'))
	return err
}

func (c *lines) Write(_ context.Context, msg jsonrpc.Message) error {
	data, err := jsonrpc.EncodeMessage(msg)
	c.mu.Lock()
	defer c.mu.Unlock()
	if r, ok := msg.(*jsonrpc.Response); ok {
		delete(c.open, r.ID)
		c.answered.Broadcast()
	}
	if err == nil {
		_, err = c.out.Write(append(data, '\n'))
	}
	return err
}
