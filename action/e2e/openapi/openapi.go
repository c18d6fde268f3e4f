// Package openapi checks HTTP exchanges against GitHub's own description of its
// REST API.
//
// It promises that a request or an answer which the description does not allow is
// reported, with the place that differs. It does not know what the description
// leaves out: limits in bytes, permissions, order of events.
package openapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
)

// Description is GitHub's description, reduced to the paths that are asked for.
type Description struct{ doc *openapi3.T }

// Load reads file (generated/api.github.com.json of @octokit/openapi) and keeps
// the paths for which keep is true, with all they refer to: checking and indexing
// all of it takes the better part of a minute.
func Load(file string, keep func(path string) bool) (*Description, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var all struct {
		OpenAPI    string                                `json:"openapi"`
		Info       json.RawMessage                       `json:"info"`
		Paths      map[string]json.RawMessage            `json:"paths"`
		Components map[string]map[string]json.RawMessage `json:"components"`
	}
	if err := json.Unmarshal(data, &all); err != nil {
		return nil, fmt.Errorf("read %q: %w", file, err)
	}
	small := map[string]any{"openapi": all.OpenAPI, "info": all.Info}
	paths := map[string]json.RawMessage{}
	components := map[string]map[string]json.RawMessage{}
	for p, item := range all.Paths {
		if keep(p) {
			paths[p] = item
			if err := gather(item, all.Components, components); err != nil {
				return nil, err
			}
		}
	}
	if len(paths) == 0 {
		return nil, errors.New("no path of the description was kept")
	}
	small["paths"], small["components"] = paths, components
	if data, err = json.Marshal(small); err != nil {
		return nil, err
	}
	doc, err := openapi3.NewLoader().LoadFromData(data)
	if err != nil {
		return nil, fmt.Errorf("load %q: %w", file, err)
	}
	return &Description{doc}, nil
}

// gather copies what raw refers to from all into kept, and what that refers to.
func gather(raw json.RawMessage, all, kept map[string]map[string]json.RawMessage) error {
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		return err
	}
	return follow(v, all, kept)
}

func follow(v any, all, kept map[string]map[string]json.RawMessage) error {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			if err := follow(e, all, kept); err != nil {
				return err
			}
		}
	case map[string]any:
		for _, e := range v {
			if err := follow(e, all, kept); err != nil {
				return err
			}
		}
		ref, ok := v["$ref"].(string)
		if !ok {
			return nil
		}
		kind, name, _ := strings.Cut(strings.TrimPrefix(ref, "#/components/"), "/")
		if _, done := kept[kind][name]; done {
			return nil
		}
		raw, there := all[kind][name]
		if !there {
			return fmt.Errorf("no component %q", ref)
		}
		if kept[kind] == nil {
			kept[kind] = map[string]json.RawMessage{}
		}
		kept[kind][name] = raw
		return gather(raw, all, kept)
	}
	return nil
}

// route finds the operation for a request: the path template with the most
// literal parts that fits.
func (d *Description) route(r *http.Request) (*routers.Route, map[string]string, error) {
	parts := strings.Split(r.URL.EscapedPath(), "/")
	best := -1
	var route *routers.Route
	var params map[string]string
	for path, item := range d.doc.Paths.Map() {
		p, literal, ok := fit(strings.Split(path, "/"), parts)
		if op := item.GetOperation(r.Method); ok && op != nil && literal > best {
			best, params = literal, p
			route = &routers.Route{Spec: d.doc, Path: path, PathItem: item, Method: r.Method, Operation: op}
		}
	}
	if route == nil {
		return nil, nil, fmt.Errorf("%s %s is in no path of the description", r.Method, r.URL.Path)
	}
	return route, params, nil
}

// fit matches a template; its last parameter takes the rest of the path, since a
// ref holds slashes.
func fit(template, parts []string) (map[string]string, int, bool) {
	params, literal := map[string]string{}, 0
	for i, t := range template {
		if i >= len(parts) {
			return nil, 0, false
		}
		name, isParam := strings.CutPrefix(t, "{")
		if !isParam {
			if t != parts[i] {
				return nil, 0, false
			}
			literal++
			continue
		}
		value := parts[i]
		if i == len(template)-1 {
			value, parts = strings.Join(parts[i:], "/"), parts[:i+1]
		}
		value, err := url.PathUnescape(value)
		if err != nil {
			return nil, 0, false
		}
		params[strings.TrimSuffix(name, "}")] = value
	}
	return params, literal, len(parts) == len(template)
}

// Wrap returns next with every exchange checked; what does not fit is reported.
func (d *Description) Wrap(next http.Handler, report func(format string, args ...any)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			report("%s %s: %v", r.Method, r.URL.Path, err)
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		rec := httptest.NewRecorder()
		next.ServeHTTP(rec, r)
		if err := d.check(r, body, rec); err != nil {
			report("openapi: %v", err)
		}
		for k, v := range rec.Header() {
			w.Header()[k] = v
		}
		w.WriteHeader(rec.Code)
		_, _ = w.Write(rec.Body.Bytes())
	})
}

// check validates one exchange. A request that the service refused as invalid may
// be invalid.
func (d *Description) check(r *http.Request, body []byte, rec *httptest.ResponseRecorder) error {
	route, params, err := d.route(r)
	if err != nil {
		return err
	}
	req := r.Clone(context.Background())
	req.Body = io.NopCloser(bytes.NewReader(body))
	in := &openapi3filter.RequestValidationInput{Request: req, PathParams: params, Route: route, Options: &openapi3filter.Options{
		AuthenticationFunc: openapi3filter.NoopAuthenticationFunc, IncludeResponseStatus: true, SkipSettingDefaults: true, RejectWhenRequestBodyNotSpecified: true,
	}}
	if rec.Code != http.StatusUnprocessableEntity {
		if err := openapi3filter.ValidateRequest(context.Background(), in); err != nil {
			return fmt.Errorf("request %s %s: %w\n%.2000s", r.Method, route.Path, err, body)
		}
	}
	if route.Operation.Responses.Status(rec.Code) == nil && refusal(rec) {
		return nil
	}
	out := &openapi3filter.ResponseValidationInput{RequestValidationInput: in, Status: rec.Code, Header: rec.Header(), Options: in.Options}
	out.SetBodyBytes(rec.Body.Bytes())
	if err := openapi3filter.ValidateResponse(context.Background(), out); err != nil {
		return fmt.Errorf("answer %d to %s %s: %w", rec.Code, r.Method, route.Path, err)
	}
	return nil
}

// refusal reports whether an answer is an error in the usual form. Every operation
// may refuse with these; the description lists them for some only.
func refusal(rec *httptest.ResponseRecorder) bool {
	switch rec.Code {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusTooManyRequests:
		var e struct {
			Message string `json:"message"`
		}
		return json.Unmarshal(rec.Body.Bytes(), &e) == nil && e.Message != ""
	}
	return false
}
