package sim

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

// faulty answers a request, or lets something go wrong.
func (w *world) faulty(q *request) (answer, string) {
	none := func(op string) answer {
		return answer{err: &net.OpError{Op: op, Net: "tcp", Err: errors.New("connection reset by peer")}}
	}
	if w.away.After(time.Now()) {
		return none("dial"), ": the server is away"
	}
	if w.quiet || w.Intn(100) >= w.faults {
		return w.answer(q), ""
	}
	switch w.Intn(12) {
	case 0:
		q.of.dead.Store(true)
		if w.Intn(2) == 0 {
			w.answer(q)
			return answer{err: errKilled}, ": killed after it"
		}
		return answer{err: errKilled}, ": killed before it"
	case 1:
		q.of.stands = time.Now().Add([]time.Duration{time.Second, 30 * time.Second, 4 * time.Minute}[w.Intn(3)])
		return w.answer(q), ": and stands until " + q.of.stands.Format("05.000")
	case 2, 3:
		w.answer(q)
		return none("read"), ": the answer is lost"
	case 4:
		return none("read"), ": lost on its way"
	case 5:
		return w.refuse(q, http.StatusTooManyRequests, "TooManyRequests"), ": refused"
	case 6:
		return w.refuse(q, http.StatusInternalServerError, "InternalError"), ": refused"
	case 7:
		w.answer(q)
		return w.refuse(q, http.StatusInternalServerError, "InternalError"), ": done, and refused"
	case 8:
		w.answer(q)
		return w.refuse(q, http.StatusGatewayTimeout, "Timeout"), ": done, and refused"
	case 9:
		if q.http.Method == http.MethodPatch {
			return w.refuse(q, http.StatusConflict, "Conflict"), ": refused"
		}
		return none("read"), ": lost on its way"
	case 10:
		w.away = time.Now().Add(time.Duration(1+w.Intn(20)) * time.Second)
		return none("read"), ": the server goes away"
	}
	return w.answer(q), ""
}

func (w *world) refuse(q *request, code int, reason string) answer {
	text := fmt.Sprintf(`{"kind":"Status","apiVersion":"v1","status":"Failure","message":"a fault","reason":%q,"code":%d}`, reason, code)
	r := w.server.reply(q.http, code, []byte(text)) //nolint:bodyclose // the client closes it
	if code == http.StatusTooManyRequests {
		r.Header.Set("Retry-After", "1")
	}
	return answer{response: r}
}

// answer is that of the server, to the request as the broken rule leaves it.
func (w *world) answer(q *request) answer {
	if got, done := w.broken.instead(w, q); done {
		return got
	}
	before := w.server.version
	deleted := w.before(q)
	q.http.Body = io.NopCloser(bytes.NewReader(q.body))
	response, err := w.server.RoundTrip(q.http) //nolint:bodyclose // the client closes it
	if err == nil {
		if date, err := http.ParseTime(response.Header.Get("Date")); err == nil {
			response.Header.Set("Date", date.Add(q.of.skew).Format(http.TimeFormat))
		}
	}
	if w.server.version != before {
		w.writes++
		w.judgeWrite(q, deleted)
	}
	return answer{response, err}
}
