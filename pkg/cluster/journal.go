// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/slipway-k8s/slipway/pkg/statestore"
	"github.com/slipway-k8s/slipway/pkg/tasks"
)

// storeJournal writes what a run is about to do, and then what came of it, as numbered
// segments of the store. A segment is never changed.
type storeJournal struct {
	store   *statestore.Store
	cluster string
	run     string
	now     func() time.Time
	verb    string

	mu      sync.Mutex
	next    int
	pending []tasks.Outcome // not yet written: they go with the next intents
}

var _ tasks.Journal = (*storeJournal)(nil)

// runTime is how a run's name starts: names sort by time.
const runTime = "20060102T150405.000000000"

// newJournal begins the journal of a run. Its name comes after all others, whatever the
// clocks of the machines say: the last one is what the next run tells of.
func newJournal(ctx context.Context, d Deps, cluster string, h tasks.Header) (*storeJournal, error) {
	runs, err := d.Store.JournalRuns(ctx, cluster)
	if err != nil {
		return nil, err
	}
	start := d.now()
	if len(runs) > 0 {
		began, _, _ := strings.Cut(runs[len(runs)-1], "-r")
		if last, err := time.Parse(runTime, began); err == nil && !start.After(last) {
			start = last.Add(time.Nanosecond)
		}
	}
	return &storeJournal{store: d.Store, cluster: cluster, now: d.now, verb: h.Verb,
		run: fmt.Sprintf("%s-r%d", start.Format(runTime), h.Revision)}, nil
}

// revisionOf returns the revision that a run applied, by the run's name.
func revisionOf(run string) int {
	_, digits, _ := strings.Cut(run, "-r")
	n, _ := strconv.Atoi(digits) // 0 for a name that is none of ours
	return n
}

// segment is one object of the journal.
type segment struct {
	Verb    string          `json:"verb"`
	When    time.Time       `json:"when"`
	Intents []intent        `json:"intents,omitempty"`
	Results []tasks.Outcome `json:"results,omitempty"`
}

type intent struct {
	ID     tasks.ID     `json:"id"`
	Action tasks.Action `json:"action"`
}

// Intent writes a batch's intents before its first call.
func (j *storeJournal) Intent(ctx context.Context, batch []tasks.Item) error {
	s := segment{Verb: j.verb, When: j.now(), Results: j.take()}
	for _, item := range batch {
		s.Intents = append(s.Intents, intent{item.ID, item.Action})
	}
	return j.write(ctx, s)
}

// Result keeps what came of tasks for the next segment, so that a batch costs one write;
// a failure is written at once. A killed run may thus have ended more than its journal
// says, never less: the next run looks at the cloud anyway.
func (j *storeJournal) Result(ctx context.Context, results []tasks.Outcome) error {
	j.mu.Lock()
	j.pending = append(j.pending, results...)
	j.mu.Unlock()
	if slices.ContainsFunc(results, func(r tasks.Outcome) bool { return r.Error != "" }) {
		return j.flush(ctx)
	}
	return nil
}

// flush writes the results that no segment holds yet.
func (j *storeJournal) flush(ctx context.Context) error {
	results := j.take()
	if len(results) == 0 {
		return nil
	}
	return j.write(ctx, segment{Verb: j.verb, When: j.now(), Results: results})
}

func (j *storeJournal) take() []tasks.Outcome {
	j.mu.Lock()
	defer j.mu.Unlock()
	results := j.pending
	j.pending = nil
	return results
}

func (j *storeJournal) write(ctx context.Context, s segment) error {
	data, err := json.Marshal(s)
	if err != nil {
		return fmt.Errorf("write the journal of cluster %s: %w", j.cluster, err)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.next++
	return j.store.AppendJournal(ctx, j.cluster, j.run, j.next, data)
}

// logOperation adds an apply to the cluster's audit log.
func (d Deps) logOperation(ctx context.Context, j *storeJournal, h tasks.Header, began time.Time, s tasks.Summary, failure error) error {
	op := statestore.Operation{When: began, Who: d.Who, Host: d.Host, Tool: d.Tool, Command: h.Verb, Revision: h.Revision, Run: j.run, Result: "succeeded"}
	switch {
	case s.Interrupted:
		op.Result = "interrupted"
	case failure != nil:
		op.Result, op.Detail = "failed", fmt.Sprintf("%d tasks failed, %d skipped", len(s.Failed), len(s.Skipped))
	}
	write, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTime)
	defer cancel()
	return errors.Join(j.flush(write), d.Store.LogOperation(write, j.cluster, op))
}

// tellLastRun warns in a plan that is to be applied of what the last run left undone.
func (d Deps) tellLastRun(ctx context.Context, plan *tasks.Plan, o UpdateOptions) error {
	if !o.Yes {
		return nil
	}
	runs, err := d.Store.JournalRuns(ctx, o.Name)
	if err != nil || len(runs) == 0 {
		return err
	}
	segments, err := d.Store.Journal(ctx, o.Name, runs[len(runs)-1])
	if err != nil {
		return err
	}
	text, err := unfinished(segments)
	if err == nil && text != "" {
		plan.Warnings = append(plan.Warnings, tasks.Warning{Text: text})
	}
	return err
}

// unfinished reads a run's journal and says what it began and did not end, or "".
func unfinished(segments []statestore.Segment) (string, error) {
	open := map[tasks.ID]tasks.Action{}
	var failed []string
	var verb string
	for _, raw := range segments {
		var s segment
		if err := json.Unmarshal(raw.Content, &s); err != nil {
			return "", fmt.Errorf("journal segment %d: %w", raw.Number, err)
		}
		verb = s.Verb
		for _, i := range s.Intents {
			open[i.ID] = i.Action
		}
		for _, r := range s.Results {
			delete(open, r.ID)
			if r.Error != "" {
				failed = append(failed, string(r.ID))
			}
		}
	}
	var begun []string
	for id, action := range open {
		begun = append(begun, fmt.Sprintf("%s %s", action, id))
	}
	slices.Sort(begun)
	switch {
	case len(begun) > 0:
		return fmt.Sprintf("The last run (%s) was cut off while it did: %s. This run looks at what came of that and goes on.", verb, strings.Join(begun, ", ")), nil
	case len(failed) > 0:
		return fmt.Sprintf("The last run (%s) failed at: %s. This run goes on from there.", verb, strings.Join(failed, ", ")), nil
	}
	return "", nil
}
