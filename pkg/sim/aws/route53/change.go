// SPDX-License-Identifier: Apache-2.0

package route53

import (
	"encoding/xml"
	"net/http"
	"time"
)

// change is a row of the table of changes.
type change struct {
	ID        string
	Submitted time.Time
	Comment   string
}

// Passing says that a change is bookkeeping.
func (*change) Passing() bool { return true }

// keepChanges is how long a change can be asked about.
const keepChanges = time.Hour

type changeInfo struct {
	ID          string `xml:"Id"`
	Status      string
	SubmittedAt string
	Comment     string `xml:",omitempty"`
}

type changeOut struct {
	XMLName    xml.Name
	ChangeInfo changeInfo
}

const timeFormat = "2006-01-02T15:04:05.000Z"

// submit records a change that has been made.
func (s *Service) submit(r *request, comment string) changeInfo {
	ch := &change{ID: s.newID("C"), Submitted: r.Now.UTC(), Comment: comment}
	s.changes.Put("", ch.ID, ch)
	return s.info(ch, r.Now)
}

// info shows a change: PENDING at first, INSYNC after the delay.
func (s *Service) info(ch *change, now time.Time) changeInfo {
	out := changeInfo{ID: "/change/" + ch.ID, Status: "INSYNC", SubmittedAt: ch.Submitted.Format(timeFormat), Comment: ch.Comment}
	if s.delay > 0 && now.Sub(ch.Submitted) < s.delay {
		out.Status = "PENDING"
	}
	return out
}

// answer wraps a change under an operation's name.
func (s *Service) answer(name string, info changeInfo) changeOut {
	return changeOut{XMLName: xml.Name{Space: namespace, Local: name}, ChangeInfo: info}
}

func (s *Service) getChange(r *request) (any, error) {
	ch := s.changes.Get("", r.id)
	if ch == nil {
		return nil, refuse(http.StatusNotFound, "NoSuchChange", "A change with id %s does not exist.", r.id)
	}
	return s.answer("GetChangeResponse", s.info(ch, r.Now)), nil
}

// Settle forgets old changes.
func (s *Service) Settle(now time.Time) {
	for _, ch := range s.changes.All("") {
		if now.Sub(ch.Submitted) < keepChanges {
			return // rows are in the order of their making
		}
		s.changes.Delete("", ch.ID)
	}
}
