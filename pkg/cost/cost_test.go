// SPDX-License-Identifier: Apache-2.0

package cost

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
)

// example loads the price file of the documentation.
func example(t *testing.T) *Prices {
	t.Helper()
	data, err := os.ReadFile("../../docs/reference/prices-example.yaml")
	if err != nil {
		t.Fatal(err)
	}
	p, err := Load("prices-example.yaml", data)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func machines(n int, types ...string) Use { return Use{Thing: Machine, Types: types, Count: n} }

// TestMonth prices one thing of each sort, by hand.
func TestMonth(t *testing.T) {
	t.Parallel()
	p := example(t)
	for _, c := range []struct {
		use     Use
		want    string // of one month
		atMost  bool
		unknown string
	}{
		{use: machines(1, "t3.medium"), want: "29.20"},
		{use: machines(3, "t3.medium"), want: "87.60"},
		{use: machines(0, "p5.48xlarge"), want: "0.00"},
		{use: machines(1, "p5.48xlarge"), unknown: "machine p5.48xlarge in aws us-east-1"},
		{use: machines(2, "t3.medium", "m7i.large"), want: "146.00", atMost: true},
		{use: machines(2, "t3.medium", "p5.48xlarge"), unknown: "machine p5.48xlarge in aws us-east-1"},
		{use: Use{Thing: Machine, Types: []string{"m7i.large"}, Count: 1, Spot: true}, want: "73.00", atMost: true},
		{use: Use{Thing: Machine, Types: []string{"m7i.large"}, Count: 1, Spot: true, Limit: 0.03}, want: "21.90", atMost: true},
		{use: Use{Thing: Machine, Types: []string{"m7i.large"}, Count: 1, Spot: true, Limit: 3}, want: "73.00", atMost: true},
		{use: Use{Thing: Machine, Types: []string{"p5.48xlarge"}, Count: 1, Spot: true, Limit: 3}, want: "2,190.00", atMost: true},
		{use: Use{Thing: Volume, Types: []string{"gp3"}, Count: 2, GiB: 100, IOPS: 3000, Throughput: 125}, want: "16.00"},
		{use: Use{Thing: Volume, Types: []string{"gp3"}, Count: 1, GiB: 100, IOPS: 4000, Throughput: 225}, want: "17.00"},
		{use: Use{Thing: Volume, Types: []string{"io2"}, Count: 1, GiB: 8, IOPS: 100}, want: "7.50"},
		{use: Use{Thing: Volume, Types: []string{"gp2"}, Count: 1, GiB: 8, IOPS: 100}, unknown: "IOPS of volume gp2 in aws us-east-1"},
		{use: Use{Thing: Volume, Types: []string{"st1"}, Count: 1, GiB: 500}, unknown: "volume st1 in aws us-east-1"},
		{use: Use{Thing: LoadBalancer, Types: []string{"network"}, Count: 1}, want: "14.60"},
		{use: Use{Thing: NATGateway, Count: 1}, want: "36.50"},
		{use: Use{Thing: Address, Count: 4}, want: "14.60"},
		{use: Use{Thing: "satellite", Count: 1}, unknown: "satellite in aws us-east-1"},
	} {
		e := p.Estimate("aws", "us-east-1", []Object{{ID: "x", New: []Use{c.use}}})
		l := e.Lines[0]
		if c.unknown != "" {
			if l.New != nil || l.Delta != nil || e.Complete || strings.Join(e.Unknown, ";") != c.unknown {
				t.Errorf("%s: got %v, unknown %q, complete %t", c.use, l.New, e.Unknown, e.Complete)
			}
			continue
		}
		if l.New == nil || l.New.String() != c.want || l.AtMost != c.atMost || !e.Complete {
			t.Errorf("%s: got %s (at most: %t), want %s", c.use, shown(l.New), l.AtMost, c.want)
		}
	}
}

// TestUnknownIsNotNothing: what has no price is named, is in no total, and does not hide
// a change that is known.
func TestUnknownIsNotNothing(t *testing.T) {
	t.Parallel()
	p := example(t)
	e := p.Estimate("aws", "us-east-1", []Object{
		{ID: "grows", Old: []Use{machines(1, "t3.medium")}, New: []Use{machines(2, "t3.medium")}},
		{ID: "odd", Old: []Use{machines(1, "x9.large")}, New: []Use{machines(1, "x9.large")}},
		{ID: "none"},
	})
	if !e.Complete || e.Delta.String() != "29.20" || len(e.Lines) != 2 || e.Lines[1].Old != nil || *e.Lines[1].Delta != 0 || len(e.Unknown) != 1 {
		t.Errorf("got %+v", e)
	}
	// Part of an object is known.
	e = p.Estimate("aws", "us-east-1", []Object{
		{ID: "odd", New: []Use{machines(1, "x9.large"), {Thing: Volume, Types: []string{"gp2"}, Count: 1, GiB: 10}}},
	})
	if e.Complete || e.Lines[0].New != nil || e.New.String() != "1.00" {
		t.Errorf("got %+v", e)
	}
	// Another region, another cloud: nothing is known, and nothing fails.
	for _, at := range [][2]string{{"aws", "ap-south-1"}, {"elsewhere", "us-east-1"}} {
		e = p.Estimate(at[0], at[1], []Object{{ID: "x", New: []Use{machines(1, "t3.medium")}}})
		if e.Complete || e.Unknown[0] != "machine t3.medium in "+at[0]+" "+at[1] {
			t.Errorf("got %+v", e)
		}
	}
}

// TestText is what a person reads.
func TestText(t *testing.T) {
	t.Parallel()
	p := example(t)
	e := p.Estimate("aws", "us-east-1", []Object{
		{ID: "aws/autoscalinggroup/nodes", Old: []Use{machines(30, "t3.medium")}, New: []Use{machines(30, "m7i.large", "m7i.xlarge")}},
		{ID: "aws/natgateway/a", Old: []Use{{Thing: NATGateway, Count: 1}}},
		{ID: "aws/volume/main/a", New: []Use{{Thing: Volume, Types: []string{"gp3"}, Count: 1, GiB: 20, IOPS: 3000, Throughput: 125}}},
		{ID: "aws/loadbalancer/api", Old: []Use{{Thing: LoadBalancer, Types: []string{"network"}, Count: 1}}, New: []Use{{Thing: LoadBalancer, Types: []string{"network"}, Count: 1}}},
		{ID: "aws/autoscalinggroup/gpu", New: []Use{machines(2, "p5.48xlarge")}},
	})
	const want = `
Cost in USD per month (aws us-east-1, 730 hours):
  RESOURCE                       OLD       NEW     CHANGE  WHAT
  aws/autoscalinggroup/nodes  876.00  4,380.00  +3,504.00  30 t3.medium -> 30 m7i.large or m7i.xlarge
  aws/natgateway/a             36.50      0.00     -36.50  1 NAT gateway no longer
  aws/volume/main/a             0.00      1.60      +1.60  1 x 20 GiB gp3
  aws/autoscalinggroup/gpu      0.00   unknown    unknown  2 p5.48xlarge
  Total                       927.10  4,396.20  +3,469.10
  Only in the total, since they do not change: 1 resources.
  Where the cloud chooses a type, or the day a spot price, this is the most that it can be.
  No price is given, and nothing counted, for: machine p5.48xlarge in aws us-east-1.
  So the change is not all that the plan changes.
  Traffic and requests are not counted.
`
	if got := text(t, e, false); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := text(t, e, true); !strings.Contains(got, "aws/loadbalancer/api         14.60     14.60       0.00  1 network load balancer\n") {
		t.Errorf("got\n%s", got)
	}
	quiet := p.Estimate("aws", "us-east-1", []Object{{ID: "x", Old: []Use{machines(1, "t3.medium")}, New: []Use{machines(1, "t3.medium")}}})
	if got := text(t, quiet, false); !strings.Contains(got, "No change: 29.20.") {
		t.Errorf("got\n%s", got)
	}
}

func text(t *testing.T, e *Estimate, all bool) string {
	t.Helper()
	var b strings.Builder
	if err := e.Text(&b, all); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestJSON(t *testing.T) {
	t.Parallel()
	e := example(t).Estimate("aws", "us-east-1", []Object{{ID: "x", Old: []Use{machines(1, "t3.medium")}, New: []Use{machines(1, "p5.48xlarge")}}})
	got, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"currency":"USD","cloud":"aws","region":"us-east-1","hoursPerMonth":730,` +
		`"resources":[{"id":"x","old":29.2,"new":null,"delta":null,"oldUses":"1 t3.medium","newUses":"1 p5.48xlarge","unknown":["machine p5.48xlarge in aws us-east-1"]}],` +
		`"old":29.2,"new":0,"delta":-29.2,"complete":false,"unknown":["machine p5.48xlarge in aws us-east-1"]}`
	if string(got) != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestAmounts(t *testing.T) {
	t.Parallel()
	for a, want := range map[Amount]string{0: "0.00", 0.004: "0.00", -0.004: "0.00", -1234567.891: "-1,234,567.89", 999.999: "1,000.00", 12: "12.00", 123456: "123,456.00"} {
		if got := a.String(); got != want {
			t.Errorf("%g is written %s, not %s", float64(a), got, want)
		}
	}
}

// TestLoadFaults: a file that says less or other than its author means is refused.
func TestLoadFaults(t *testing.T) {
	t.Parallel()
	const head = "apiVersion: slipway.dev/prices/v1\ncurrency: USD\nhoursPerMonth: 730\n"
	for text, want := range map[string]string{
		"{":                                     "price file p.yaml: ",
		"currency: x":                           `apiVersion is ""; it must be slipway.dev/prices/v1`,
		head + "x: 1":                           `unknown field "x"`,
		head:                                    "clouds: it has no prices",
		strings.Replace(head, "730", "0", 1):    "hoursPerMonth: 0",
		strings.Replace(head, "730", "8760", 1): "hoursPerMonth: 8760",
		strings.Replace(head, "USD", `""`, 1):   "currency",
		head + "clouds: {aws: {us-east-1: {machineHour: {t3.micro: -1}}}}":            "clouds.aws.us-east-1.machineHour.t3.micro: -1 is no price",
		head + "clouds: {aws: {us-east-1: {natGatewayHour: -0.1}}}":                   "natGatewayHour: -0.1 is no price",
		head + "clouds: {aws: {us-east-1: {volumes: {gp3: {iopsMonth: 1}}}}}":         "volumes.gp3: gibMonth is lacking",
		head + "clouds: {aws: {us-east-1: {volumes: {gp3: {gibMonth: 1, iops: 1}}}}}": `unknown field`,
		head + "clouds: {aws: {us-east-1: }}":                                         "clouds.aws.us-east-1: it has no prices",
	} {
		if _, err := Load("p.yaml", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", text, err, want)
		}
	}
}

// FuzzLoad: no text makes loading or pricing panic.
func FuzzLoad(f *testing.F) {
	f.Add("apiVersion: slipway.dev/prices/v1\ncurrency: USD\nhoursPerMonth: 730\nclouds: {aws: {r: {volumes: {gp3: {gibMonth: 1}}}}}")
	f.Fuzz(func(t *testing.T, text string) {
		p, err := Load("p.yaml", []byte(text))
		if err != nil {
			return
		}
		e := p.Estimate("aws", "r", []Object{{ID: "x", New: []Use{{Thing: Volume, Types: []string{"gp3"}, Count: 1, GiB: 1, IOPS: 9}}}})
		if _, err := json.Marshal(e); err != nil {
			t.Fatal(err)
		}
	})
}
