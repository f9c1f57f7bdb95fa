// SPDX-License-Identifier: Apache-2.0

package wire_test

import (
	"bytes"
	"net/url"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-k8s/slipway/pkg/sim/aws/wire"
)

type pair struct {
	Key   string `wire:"Key,required"`
	Value string `wire:"Value,keep"`
}

type shape struct {
	Name  string `wire:"Name,required"`
	Count *int
	On    bool
	Tags  []pair   `wire:"Tag|tagSet"`
	Ids   []string `wire:"Id|idSet,omitempty"`
}

func TestDecode(t *testing.T) {
	t.Parallel()
	five := 5
	for _, x := range []struct {
		name, query string
		dialect     wire.Dialect
		want        shape
		code        string
	}{
		{name: "ec2 lists are flat", query: "Name=n&Count=5&On=true&Tag.2.Key=b&Tag.1.Key=a&Tag.1.Value=", want: shape{Name: "n", Count: &five, On: true, Tags: []pair{{Key: "a"}, {Key: "b"}}}},
		{name: "query lists have members", query: "Name=n&Id.member.1=x&Id.member.10=z&Id.member.2=y", dialect: wire.Query, want: shape{Name: "n", Ids: []string{"x", "y", "z"}}},
		{name: "required", query: "On=true", code: "MissingParameter"},
		{name: "required in a list", query: "Name=n&Tag.1.Value=v", code: "MissingParameter"},
		{name: "unknown", query: "Name=n&Colour=red", code: "UnknownParameter"},
		{name: "unknown in a list", query: "Name=n&Tag.1.Key=k&Tag.1.Colour=red", code: "UnknownParameter"},
		{name: "a member list in ec2", query: "Name=n&Id.member.1=x", code: "UnknownParameter"},
		{name: "a flat list in query", query: "Name=n&Id.1=x", dialect: wire.Query, code: "UnknownParameter"},
		{name: "no number", query: "Name=n&Count=five", code: "InvalidParameterValue"},
		{name: "no boolean", query: "Name=n&On=yes", code: "InvalidParameterValue"},
		{name: "a value where members belong", query: "Name=n&Tag.1=x", code: "InvalidParameterValue"},
		{name: "members where a value belongs", query: "Name.x=n", code: "InvalidParameterValue"},
		{name: "an index with a leading zero", query: "Name=n&Id.01=x", code: "UnknownParameter"},
		{name: "a list without an index", query: "Name=n&Id.member=x", dialect: wire.Query, code: "InvalidParameterValue"},
		{name: "twice", query: "Name=n&Name=m", code: "InvalidParameterValue"},
	} {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			values, err := url.ParseQuery(x.query)
			if err != nil {
				t.Fatal(err)
			}
			var got shape
			refusal := wire.Decode(x.dialect, values, &got)
			if x.code != "" {
				if refusal == nil || refusal.Code != x.code {
					t.Errorf("got %v, want %s", refusal, x.code)
				}
				return
			}
			if refusal != nil {
				t.Fatal(refusal)
			}
			if d := cmp.Diff(x.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestEncode(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	wire.Encode(wire.EC2, &b, &shape{Name: "a<b", Tags: []pair{{Key: "k"}}})
	if want := "<name>a&lt;b</name><on>false</on><tagSet><item><key>k</key><value></value></item></tagSet>"; b.String() != want {
		t.Errorf("ec2: %s", b.String())
	}
	b.Reset()
	wire.Encode(wire.Query, &b, &shape{Name: "n", Ids: []string{"x"}})
	if want := "<Name>n</Name><On>false</On><tagSet></tagSet><idSet><member>x</member></idSet>"; b.String() != want {
		t.Errorf("query: %s", b.String())
	}
}

func FuzzDecode(f *testing.F) {
	for _, seed := range []string{"Name=n&Tag.1.Key=a", "Id.member.1=x", "Name..=1", "Tag.99999999999999999999.Key=1", "Tag.-1.Key=x"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, query string) {
		values, err := url.ParseQuery(query)
		if err != nil {
			return
		}
		for _, d := range []wire.Dialect{wire.EC2, wire.Query} {
			var got shape
			_ = wire.Decode(d, values, &got) // it must neither panic nor allocate by the index
		}
	})
}

func TestDecodeJSON(t *testing.T) {
	t.Parallel()
	type document struct {
		Name  string `wire:",required"`
		Count *int
		Blob  []byte
		Pairs []pair
		Map   map[string]string
	}
	for raw, code := range map[string]string{
		`{"Name":"n","Count":5,"Blob":"eA==","Pairs":[{"Key":"k"}],"Map":{"a":"b"}}`: "",
		`{"Name":"n","Count":null}`:  "",
		`{}`:                         "ValidationException",
		`{"Name":null}`:              "ValidationException",
		`{"name":"n"}`:               "ValidationException",
		`{"Name":"n","Colour":1}`:    "ValidationException",
		`{"Name":5}`:                 "SerializationException",
		`{"Name":"n","Count":"5"}`:   "SerializationException",
		`{"Name":"n","Count":1.5}`:   "SerializationException",
		`{"Name":"n","Blob":"?"}`:    "SerializationException",
		`{"Name":"n","Pairs":[1]}`:   "SerializationException",
		`{"Name":"n","Map":{"a":1}}`: "SerializationException",
		`{"Name":"n"} x`:             "SerializationException",
		`[]`:                         "SerializationException",
	} {
		err := wire.DecodeJSON([]byte(raw), new(document))
		if (err == nil) != (code == "") || err != nil && err.Code != code {
			t.Errorf("%s: got %v, want %q", raw, err, code)
		}
	}
}
