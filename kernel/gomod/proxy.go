package gomod

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/mod/module"
)

// defaultProxy is what the go command takes when GOPROXY is not set.
const defaultProxy = "https://proxy.golang.org,direct"

// Limits of what a proxy may send, in bytes.
const (
	maxInfo = 64 << 10
	maxList = 4 << 20
)

// proxy is one entry of GOPROXY.
type proxy struct {
	url    string
	always bool // after any error the next one is asked, not only when there is no such module
}

var errNotFound = errors.New("not found")

func parseProxies(list string) ([]proxy, error) {
	if list == "" {
		list = defaultProxy
	}
	var proxies []proxy
	for list != "" {
		i := strings.IndexAny(list, ",|")
		entry, always := list, false
		if i >= 0 {
			entry, always, list = list[:i], list[i] == '|', list[i+1:]
		} else {
			list = ""
		}
		entry = strings.TrimSpace(entry)
		switch u, err := url.Parse(entry); {
		case entry == "":
		case entry == "off" || entry == "direct":
			return append(proxies, proxy{url: entry}), nil // nothing after it is asked
		case err != nil || u.Scheme != "https" && u.Scheme != "http" && u.Scheme != "file":
			return nil, fmt.Errorf("GOPROXY: %q is not the address of a proxy", entry)
		default:
			proxies = append(proxies, proxy{strings.TrimSuffix(entry, "/"), always})
		}
	}
	if len(proxies) == 0 {
		return nil, errors.New("GOPROXY lists no proxy")
	}
	return proxies, nil
}

// get reads a file of a module from the first proxy that has it.
func (f *Fetcher) get(ctx context.Context, path, name string, limit int64) ([]byte, error) {
	body, err := f.open(ctx, path, name)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	return readAll(body, path+"/"+name, limit)
}

// readAll reads what is called name and has at most limit bytes.
func readAll(r io.Reader, name string, limit int64) ([]byte, error) {
	content, err := io.ReadAll(io.LimitReader(r, limit+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", name, err)
	case int64(len(content)) > limit:
		return nil, fmt.Errorf("%s is larger than %d bytes", name, limit)
	}
	return content, nil
}

func (f *Fetcher) open(ctx context.Context, path, name string) (io.ReadCloser, error) {
	if f.isPrivate(path) {
		return nil, fmt.Errorf("%s is private (GOPRIVATE, GONOPROXY): it would come from version control, which needs the Go toolchain", path)
	}
	escaped, err := module.EscapePath(path)
	if err != nil {
		return nil, err
	}
	var failed error
	for _, p := range f.proxies {
		switch p.url {
		case "off":
			return nil, errors.Join(failed, errors.New("GOPROXY=off: no module is fetched"))
		case "direct":
			if failed == nil {
				failed = errors.New("GOPROXY=direct needs version control, and so the Go toolchain; set GOPROXY to a proxy")
			}
			return nil, failed
		}
		body, err := f.openURL(ctx, p.url+"/"+escaped+"/"+name)
		if err == nil {
			return body, nil
		}
		failed = fmt.Errorf("%s: %w", path, err)
		if !p.always && !errors.Is(err, errNotFound) {
			break
		}
	}
	return nil, failed
}

func (f *Fetcher) openURL(ctx context.Context, address string) (io.ReadCloser, error) {
	if path, ok := strings.CutPrefix(address, "file://"); ok {
		file, err := os.Open(filepath.FromSlash(path))
		if errors.Is(err, os.ErrNotExist) {
			err = errNotFound
		}
		return file, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	response, err := f.http.Do(request)
	if err != nil {
		return nil, err
	}
	switch response.StatusCode {
	case http.StatusOK:
		return response.Body, nil
	case http.StatusNotFound, http.StatusGone:
		err = errNotFound
	default:
		err = fmt.Errorf("the proxy answers %s", response.Status)
	}
	response.Body.Close()
	return nil, err
}

// latestInfo asks a proxy what it takes for the newest version.
func (f *Fetcher) latestInfo(ctx context.Context, path string) (string, error) {
	raw, err := f.get(ctx, path, "@latest", maxInfo)
	if err != nil {
		return "", err
	}
	var info struct{ Version string }
	if err := json.Unmarshal(raw, &info); err != nil {
		return "", fmt.Errorf("%s: the proxy's answer is not JSON: %w", path, err)
	}
	return info.Version, module.Check(path, info.Version)
}
