package server

import (
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"mime"
	"net"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"

	"aiflow/internal/fault"
)

const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; " +
	"connect-src 'self'; worker-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// guard lets in who may: the right host, our own origin, the token, a sound
// address and a body of the right kind, in this order.
func (s *Server) guard(next http.Handler) http.Handler {
	cross := http.NewCrossOriginProtection()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer s.recoverPanic(w, r)
		headers(w)
		if status, err := s.refuse(r, cross); err != nil {
			s.failWith(w, r, status, err)
			return
		}
		if r.URL.Query().Get("token") != "" {
			s.signIn(w, r)
			return
		}
		if !s.hasToken(r) {
			askForToken(s, w, r)
			return
		}
		if status, err := malformed(s, r); err != nil {
			s.failWith(w, r, status, err)
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, bodyLimit(r))
		next.ServeHTTP(w, r)
	})
}

func headers(w http.ResponseWriter) {
	h := w.Header()
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
}

// recoverPanic turns a panic into an answer that tells nothing.
func (s *Server) recoverPanic(w http.ResponseWriter, r *http.Request) {
	if v := recover(); v != nil {
		if v == http.ErrAbortHandler {
			panic(v)
		}
		s.log(fmt.Sprint("panic: ", v))
		s.failWith(w, r, http.StatusInternalServerError, fault.New(fault.InternalError))
	}
}

func denied(reason string) (int, error) {
	return http.StatusForbidden, fault.New(fault.AccessDenied, "reason", reason)
}

// refuse turns away what does not come from our own page or a plain client
// that knows our exact address.
func (s *Server) refuse(r *http.Request, cross *http.CrossOriginProtection) (int, error) {
	origin, site := r.Header.Get("Origin"), r.Header.Get("Sec-Fetch-Site")
	switch {
	case !r.ProtoAtLeast(1, 1), r.URL.IsAbs(), r.Method == http.MethodConnect:
		return denied("form")
	case !s.isOurs(r):
		return denied("host")
	case origin != "" && origin != "http://"+r.Host:
		return denied("origin")
	case site == "" || site == "same-origin" || site == "none":
	case isAPI(r) || r.Header.Get("Sec-Fetch-Mode") != "navigate":
		return denied("site")
	}
	if err := cross.Check(r); err != nil {
		return denied("origin")
	}
	return 0, nil
}

func isAPI(r *http.Request) bool {
	return strings.HasPrefix(r.URL.Path, "/api/") || r.URL.Path == "/api"
}

// isOurs compares Host with the few names under which we may be called. A
// server that listens on more than this machine also answers to the exact
// address that was connected to, which no foreign name can be.
func (s *Server) isOurs(r *http.Request) bool {
	port := strconv.Itoa(s.Port)
	names := []string{"127.0.0.1", "localhost", "::1"}
	if !IsLoopback(s.Host) {
		names = append(names, s.Host)
		if at, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr); ok {
			names = append(names, at.IP.String())
		}
	}
	return slices.ContainsFunc(names, func(name string) bool {
		return r.Host == net.JoinHostPort(name, port) || s.Port == 80 && r.Host == name
	})
}

// IsLoopback reports whether only this machine can reach a server on host.
func IsLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

func (s *Server) cookie() string { return "aiflow_" + strconv.Itoa(s.Port) }

// hasToken reports whether the caller has the token: the page in its cookie, a
// script as bearer.
func (s *Server) hasToken(r *http.Request) bool {
	if s.Token == "" {
		return true
	}
	if bearer, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok {
		return s.isToken(bearer)
	}
	c, err := r.Cookie(s.cookie())
	return err == nil && s.isToken(c.Value)
}

func (s *Server) isToken(text string) bool {
	a, b := sha256.Sum256([]byte(text)), sha256.Sum256([]byte(s.Token))
	return subtle.ConstantTimeCompare(a[:], b[:]) == 1
}

const cookieAge = 30 * 24 * 60 * 60

// signIn takes the token out of the address that was opened and puts it into a
// cookie that no script can read.
func (s *Server) signIn(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	if r.Method != http.MethodGet || isAPI(r) || s.Token != "" && !s.isToken(q.Get("token")) || !isClean(r) {
		askForToken(s, w, r)
		return
	}
	if s.Token != "" {
		http.SetCookie(w, &http.Cookie{
			Name: s.cookie(), Value: s.Token, Path: "/", MaxAge: cookieAge, HttpOnly: true, SameSite: http.SameSiteStrictMode,
		})
	}
	q.Del("token")
	to := *r.URL
	to.RawQuery = q.Encode()
	w.Header().Set("Location", to.RequestURI())
	w.WriteHeader(http.StatusSeeOther)
}

// askForToken says that a token is needed, and nothing else.
func askForToken(s *Server, w http.ResponseWriter, r *http.Request) {
	w.Header().Set("WWW-Authenticate", `Bearer realm="aiflow"`)
	err := fault.New(fault.TokenRequired)
	if isAPI(r) || !strings.Contains(r.Header.Get("Accept"), "text/html") {
		s.failWith(w, r, http.StatusUnauthorized, err)
		return
	}
	words := s.words(r).Fault(err)
	giveHTML(w, http.StatusUnauthorized, s.language(r), words.Title, append([]string{words.Message}, words.Actions[0]))
}

// malformed turns away addresses that mean more than one thing, and bodies that
// are not JSON.
func malformed(s *Server, r *http.Request) (int, error) {
	switch r.Method {
	case http.MethodPost, http.MethodPut, http.MethodPatch:
		kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
		if packed := r.Header.Get("Content-Encoding"); err != nil || kind != "application/json" || packed != "" && packed != "identity" {
			return http.StatusUnsupportedMediaType, invalid("Content-Type", "allowed", "application/json")
		}
	}
	switch {
	case !isClean(r):
		return http.StatusNotFound, fault.New(fault.NotFound)
	case r.ContentLength > bodyLimit(r):
		return http.StatusRequestEntityTooLarge, invalid("body", "allowed", bodyLimit(r))
	}
	return 0, nil
}

// isClean reports whether the address is written in the one way that it has.
func isClean(r *http.Request) bool {
	p, raw := r.URL.Path, strings.ToLower(r.URL.EscapedPath())
	return p == path.Clean(p) && strings.HasPrefix(p, "/") && !strings.Contains(raw, "%2f") &&
		!strings.ContainsFunc(p, func(c rune) bool { return c == '\\' || c < ' ' || c == 0x7f })
}

func bodyLimit(r *http.Request) int64 {
	if r.Method == http.MethodPut && strings.HasPrefix(r.URL.Path, "/api/requests/") || r.Method == http.MethodPost && r.URL.Path == "/api/requests" {
		return requestBody
	}
	return defaultBody
}
