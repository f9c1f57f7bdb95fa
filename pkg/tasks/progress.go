// SPDX-License-Identifier: Apache-2.0

package tasks

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

// Reporter is told how an Apply goes, one call at a time. Running comes again after
// Retrying; each task ends with one Done, or is Skipped, or never starts.
type Reporter interface {
	Start(total int) // items with a change to make
	Running(id ID, a Action)
	Retrying(id ID, err error, in time.Duration)
	Done(id ID, a Action, err error, took time.Duration)
	Skipped(id ID, because ID) // because: the failed task
	End(Summary)
}

// NopReporter says nothing.
type NopReporter struct{}

// Start says nothing.
func (NopReporter) Start(int) {}

// Running says nothing.
func (NopReporter) Running(ID, Action) {}

// Retrying says nothing.
func (NopReporter) Retrying(ID, error, time.Duration) {}

// Done says nothing.
func (NopReporter) Done(ID, Action, error, time.Duration) {}

// Skipped says nothing.
func (NopReporter) Skipped(ID, ID) {}

// End says nothing.
func (NopReporter) End(Summary) {}

var _ = []Reporter{NopReporter{}, (*plainReporter)(nil), (*terminalReporter)(nil)}

// plainReporter writes one line for each thing worth knowing.
type plainReporter struct {
	w       io.Writer
	tally   tally
	retried map[ID]string // the last error that was told
}

// PlainReporter reports in lines, for logs and pipes. A failing writer is ignored: the
// run matters more than its report.
func PlainReporter(w io.Writer) Reporter {
	return &plainReporter{w: w, retried: map[ID]string{}}
}

func (r *plainReporter) Start(total int)    { r.tally = tally{total: total} }
func (r *plainReporter) Running(ID, Action) {}

func (r *plainReporter) Retrying(id ID, err error, in time.Duration) {
	if text := err.Error(); r.retried[id] != text {
		r.retried[id] = text
		r.say(retryLine(id, err))
	}
}

func (r *plainReporter) Done(id ID, a Action, err error, took time.Duration) {
	r.say(r.tally.done(id, a, err, took))
}

func (r *plainReporter) Skipped(id, because ID) { r.say(r.tally.skip(id, because)) }
func (r *plainReporter) End(s Summary)          { r.say(s.String()) }

func (r *plainReporter) say(line string) { _, _ = fmt.Fprintln(r.w, line) }

// tally counts what has ended and words it.
type tally struct{ total, ended int }

func (t *tally) done(id ID, a Action, err error, took time.Duration) string {
	t.ended++
	text := fmt.Sprintf("%s %c %s  ", t.place(), a.Symbol(), id)
	if err != nil {
		return text + "failed: " + oneLine(err)
	}
	return text + pastTense(a) + " in " + brieflySpent(took)
}

func (t *tally) skip(id, because ID) string {
	t.ended++
	return fmt.Sprintf("%s   %s  skipped, since %s failed", t.place(), id, because)
}

func (t *tally) place() string {
	total := fmt.Sprint(t.total)
	return fmt.Sprintf("[%*d/%s]", len(total), t.ended, total)
}

func retryLine(id ID, err error) string {
	if Classify(err) == Waiting {
		return fmt.Sprintf("%s  waiting: %s", id, oneLine(err))
	}
	return fmt.Sprintf("%s  trying again: %s", id, oneLine(err))
}

func oneLine(err error) string { return escaped(strings.ReplaceAll(err.Error(), "\n", "; ")) }

func pastTense(a Action) string {
	switch a {
	case Create, Update, Replace, Delete:
		return string(a) + "d"
	}
	return string(a)
}

// brieflySpent rounds to what a reader cares about.
func brieflySpent(d time.Duration) string {
	if d < 10*time.Second {
		return fmt.Sprintf("%.1fs", d.Seconds())
	}
	return d.Round(time.Second).String()
}

// String returns the summary as one sentence.
func (s Summary) String() string {
	var parts []string
	add := func(n int, what string) {
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, what))
		}
	}
	for _, a := range []Action{Create, Update, Replace, Delete} {
		add(s.Done[a], pastTense(a))
	}
	add(len(s.Failed), "failed")
	add(len(s.Skipped), "skipped")
	add(len(s.NotBegun), "not begun")
	if len(parts) == 0 {
		parts = []string{"nothing to do"}
	}
	word := "Applied"
	switch {
	case s.Interrupted:
		word = "Interrupted"
	case len(s.Failed) > 0:
		word = "Failed"
	}
	return fmt.Sprintf("%s in %s: %s.", word, brieflySpent(s.Took), strings.Join(parts, ", "))
}

// terminalReporter keeps one live line below the finished ones.
type terminalReporter struct {
	w     io.Writer
	width func() int
	clock Clock

	mu      sync.Mutex
	tally   tally
	begun   time.Time
	running []ID // in the order of their start; those that wait for a retry stay
	stop    chan struct{}
	stopped chan struct{}
}

// TerminalReporter reports on a terminal: a line for each task that ended, and below
// them a bar, what runs now and the time, redrawn four times a second. width returns
// the terminal's columns.
func TerminalReporter(w io.Writer, width func() int, clock Clock) Reporter {
	return &terminalReporter{w: w, width: width, clock: clock}
}

func (r *terminalReporter) Start(total int) {
	r.tally, r.begun = tally{total: total}, r.clock.Now()
	r.stop, r.stopped = make(chan struct{}), make(chan struct{})
	r.print("")
	go func() {
		defer close(r.stopped)
		for {
			select {
			case <-r.stop:
				return
			case <-r.clock.After(250 * time.Millisecond):
				r.print("")
			}
		}
	}()
}

func (r *terminalReporter) Running(id ID, _ Action) {
	r.forget(id)
	r.mu.Lock()
	r.running = append(r.running, id)
	r.mu.Unlock()
	r.print("")
}

func (r *terminalReporter) Retrying(ID, error, time.Duration) {}

func (r *terminalReporter) Done(id ID, a Action, err error, took time.Duration) {
	r.forget(id)
	r.mu.Lock()
	line := r.tally.done(id, a, err, took)
	r.mu.Unlock()
	r.print(line)
}

func (r *terminalReporter) Skipped(id, because ID) {
	r.mu.Lock()
	line := r.tally.skip(id, because)
	r.mu.Unlock()
	r.print(line)
}

func (r *terminalReporter) End(s Summary) {
	close(r.stop)
	<-r.stopped
	_, _ = fmt.Fprint(r.w, clearLine+s.String()+"\n")
}

func (r *terminalReporter) forget(id ID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, other := range r.running {
		if other == id {
			r.running = append(r.running[:i], r.running[i+1:]...)
			return
		}
	}
}

// clearLine returns to the first column and wipes the line.
const clearLine = "\r\x1b[K"

// print writes a finished line, if any, and the live line under it.
func (r *terminalReporter) print(line string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	text := clearLine
	if line != "" {
		text += line + "\n"
	}
	_, _ = fmt.Fprint(r.w, text+r.live())
}

// live returns the bar, what runs and the time, in one line that never wraps.
func (r *terminalReporter) live() string {
	const cells = 20
	full := cells
	if r.tally.total > 0 {
		full = cells * r.tally.ended / r.tally.total
	}
	left := "[" + strings.Repeat("#", full) + strings.Repeat(".", cells-full) + "] " + strings.Trim(r.tally.place(), "[]") + "  "
	right := "  " + r.clock.Now().Sub(r.begun).Truncate(time.Second).String()
	room := r.width() - 1 - width(left) - width(right)
	if room < 0 {
		return strings.TrimSpace(strings.Trim(r.tally.place(), "[]") + right)
	}
	return left + runningText(r.running, room) + right
}

// runningText names as many tasks as fit and counts the others.
func runningText(ids []ID, room int) string {
	text := ""
	for i, id := range ids {
		next := text
		if i > 0 {
			next += ", "
		}
		next += string(id)
		rest := ""
		if n := len(ids) - i - 1; n > 0 {
			rest = fmt.Sprintf(" +%d", n)
		}
		if width(next+rest) > room {
			if text == "" && room > 3 {
				return string([]rune(string(id))[:min(width(string(id)), room-3)]) + "..."
			}
			if more := fmt.Sprintf(" +%d", len(ids)-i); width(text+more) <= room {
				return text + more
			}
			return text
		}
		text = next
	}
	return text
}
