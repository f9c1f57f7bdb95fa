// SPDX-License-Identifier: Apache-2.0

package gcs

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"google.golang.org/api/storage/v1"

	"github.com/slipway-k8s/slipway/pkg/statestore/driver"
)

// corrected stands before fake-gcs-server 1.56.1 and does, as the real service does,
// what that gets wrong: it deletes an object of any generation, and puts all folders of
// a listing on one page.
func corrected(fake http.Handler) http.Handler {
	var deletes sync.Mutex
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		query := r.URL.Query()
		switch {
		case r.Method == http.MethodDelete && query.Has("ifGenerationMatch"):
			deletes.Lock()
			defer deletes.Unlock()
			if generation := generationOf(fake, r); generation != "" && generation != query.Get("ifGenerationMatch") {
				answer(w, http.StatusPreconditionFailed, "conditionNotMet", "At least one of the pre-conditions you specified did not hold.")
				return
			}
		case r.Method == http.MethodGet && query.Get("delimiter") != "":
			page(w, fake, r)
			return
		}
		fake.ServeHTTP(w, r)
	})
}

// ask makes a GET of its own and decodes the answer; false when it is no success.
func ask(fake http.Handler, r *http.Request, query string, into any) bool {
	inner := r.Clone(r.Context())
	inner.Method, inner.Body, inner.URL.RawQuery = http.MethodGet, http.NoBody, query
	recorded := httptest.NewRecorder()
	fake.ServeHTTP(recorded, inner)
	return recorded.Code == http.StatusOK && json.Unmarshal(recorded.Body.Bytes(), into) == nil
}

func generationOf(fake http.Handler, r *http.Request) string {
	var object storage.Object
	if !ask(fake, r, "", &object) {
		return ""
	}
	return strconv.FormatInt(object.Generation, 10)
}

// page answers a listing out of all objects of the bucket.
func page(w http.ResponseWriter, fake http.Handler, r *http.Request) {
	var all storage.Objects
	if !ask(fake, r, "", &all) {
		answer(w, http.StatusNotFound, "notFound", "The specified bucket does not exist.")
		return
	}
	query := r.URL.Query()
	limit, _ := strconv.Atoi(query.Get("maxResults")) // none is 0, which means the largest
	o := driver.ListOptions{Shallow: query.Get("delimiter") == "/", Token: query.Get("pageToken"), Limit: limit}
	slices.SortFunc(all.Items, func(a, b *storage.Object) int { return strings.Compare(a.Name, b.Name) })
	p := driver.Paginate(func(yield func(driver.Info) bool) {
		for _, object := range all.Items {
			modified, _ := time.Parse(time.RFC3339Nano, object.Updated)
			if !yield(driver.Info{Key: object.Name, Size: int64(object.Size), Modified: modified}) {
				return
			}
		}
	}, query.Get("prefix"), o)
	out := storage.Objects{Kind: all.Kind, NextPageToken: p.Next, Prefixes: p.Prefixes}
	for _, info := range p.Objects {
		out.Items = append(out.Items, &storage.Object{Name: info.Key, Size: uint64(info.Size), Updated: info.Modified.Format(time.RFC3339Nano)})
	}
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(&out)
}
