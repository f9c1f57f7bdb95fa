// SPDX-License-Identifier: Apache-2.0

package kops

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// textBy converts texts with a function.
func textBy(f func(string) string) func(any) (any, string) {
	return func(v any) (any, string) {
		s, ok := v.(string)
		if !ok {
			return nil, "must be a text"
		}
		return f(s), ""
	}
}

func bare(prefix string) func(any) (any, string) {
	return textBy(func(s string) string { return strings.TrimPrefix(s, prefix) })
}

// only takes one value, which is what always holds.
func only(want, why string) func(any) (any, string) {
	return func(v any) (any, string) {
		if fmt.Sprint(v) != want {
			return nil, why
		}
		return want, ""
	}
}

func onlyTrue(v any) (any, string) {
	return only("true", "etcd always uses TLS; remove it")(v)
}

func onlyFalse(why string) func(any) (any, string) { return only("false", why) }

// roles renames the roles of a map.
func roles(v any) (any, string) {
	m, ok := v.(map[string]any)
	if !ok {
		return nil, "must be a map by role"
	}
	out := map[string]any{}
	for _, k := range slices.Sorted(maps.Keys(m)) {
		switch k {
		case "master", "control-plane":
			out["controlPlane"] = m[k]
		case "node", "bastion":
			out[k] = m[k]
		default:
			return nil, k + " is no role here: master, control-plane, node or bastion"
		}
	}
	return out, ""
}

func subnetType(v any) (any, string) {
	switch s := strings.ToLower(fmt.Sprint(v)); s {
	case "public", "private", "utility":
		return s, ""
	default:
		return nil, "is not supported yet; public, private and utility are"
	}
}

func topology(v any) (any, string) {
	switch s := strings.ToLower(fmt.Sprint(v)); s {
	case "public", "private":
		return s, ""
	default:
		return nil, "is public or private"
	}
}

// class takes the class of a load balancer: there is one kind.
func class(w *walk, path string, v any, _ []int) {
	switch fmt.Sprint(v) {
	case "Network":
	case "Classic":
		w.warn(path, "a network load balancer takes the place of a classic one; its address is another")
	default:
		w.fault(path, v, "is Network here")
	}
}

// emptyOr goes on below a map, and keeps an empty one, which asks for defaults.
func emptyOr(to string) func(*walk, string, any, []int) {
	return func(w *walk, path string, v any, at []int) {
		m, ok := v.(map[string]any)
		if !ok && v != nil {
			w.fault(path, v, "must be a map")
			return
		}
		if len(m) == 0 {
			w.set(to, map[string]any{})
			return
		}
		for _, k := range slices.Sorted(maps.Keys(m)) {
			w.node(to+"."+k, m[k], at)
		}
	}
}

func authorization(w *walk, path string, v any, _ []int) {
	m, _ := v.(map[string]any)
	rbac, ok := m["rbac"].(map[string]any)
	if !ok || len(m) != 1 || len(rbac) > 0 {
		w.fault(path, v, "RBAC is the only authorization here: set it to rbac: {}")
	}
}

// cloud takes the cloud's name of v1alpha2.
func cloud(w *walk, path string, v any, _ []int) {
	if v != "aws" {
		w.fault(path, v, "is not supported yet; aws is")
		return
	}
	w.set("cloudProvider.aws", map[string]any{})
}

func emptyAWS(w *walk, path string, v any, _ []int) {
	m, _ := v.(map[string]any)
	for _, k := range slices.Sorted(maps.Keys(m)) {
		w.fault(path+"."+k, m[k], "%s", byAddons)
	}
	w.set("cloudProvider.aws", map[string]any{})
}

// network takes the pod network of v1alpha2, a map with one key.
func network(w *walk, path string, v any, at []int) {
	m, _ := v.(map[string]any)
	for _, k := range slices.Sorted(maps.Keys(m)) {
		r, ok := clusterAlpha3["networking."+k]
		if !ok || r.do == nil {
			w.fault(path+"."+k, m[k], "is not supported; cni, kubenet, flannel, calico and cilium are")
			continue
		}
		r.do(w, path+"."+k, m[k], at)
	}
}

// plugin selects a pod network, whose own settings are not taken over.
func plugin(name string) func(*walk, string, any, []int) {
	return func(w *walk, path string, v any, _ []int) {
		m, _ := v.(map[string]any)
		for _, k := range slices.Sorted(maps.Keys(m)) {
			w.fault(path+"."+k, m[k], "%s", byAddons)
		}
		w.set("networking.cni", map[string]any{name: map[string]any{}})
	}
}

func flannel(w *walk, path string, v any, at []int) {
	m, _ := v.(map[string]any)
	rest := maps.Clone(m)
	if b, ok := rest["backend"]; ok {
		if b != "vxlan" {
			w.fault(path+".backend", b, "is vxlan here")
		}
		delete(rest, "backend")
	}
	plugin("flannel")(w, path, rest, at)
}

// access takes a list of ranges. IPv6 ones let nobody in: clusters have IPv4 addresses.
func access(to string) func(*walk, string, any, []int) {
	return func(w *walk, path string, v any, _ []int) {
		list, ok := v.([]any)
		if !ok {
			w.fault(path, v, "must be a list of ranges")
			return
		}
		out := []any{}
		for i, e := range list {
			if strings.Contains(fmt.Sprint(e), ":") {
				w.warn(fmt.Sprintf("%s[%d]", path, i), "an IPv6 range lets nobody in: clusters have IPv4 addresses")
				continue
			}
			out = append(out, e)
		}
		w.set(to, out)
	}
}
