// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"

	// Expressions may name time zones; they mean the same on a machine without a
	// database of them.
	_ "time/tzdata"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/ext"
	"sigs.k8s.io/yaml"
)

// The limits of a policy: they bound how long a file takes to load and a rule to run,
// whatever it says.
const (
	maxFileBytes  = 1 << 20
	maxRules      = 500
	maxExpression = 16 << 10  // bytes
	maxNesting    = 100       // levels
	maxCost       = 5_000_000 // steps of one expression, as CEL counts them
)

// file is the form of a policy file.
type file struct {
	APIVersion  string     `json:"apiVersion"`
	Description string     `json:"description,omitempty"`
	Rules       []ruleText `json:"rules"`
}

type ruleText struct {
	Name        string   `json:"name"`
	Description string   `json:"description,omitempty"`
	When        string   `json:"when,omitempty"`
	Deny        string   `json:"deny"`
	Message     string   `json:"message,omitempty"`
	Compose     string   `json:"messageExpression,omitempty"`
	Severity    Severity `json:"severity,omitempty"`
}

// Load compiles the rules of one file; name is how errors call it. What is wrong comes
// in one *FileError: unknown fields, and for each expression its rule and position.
func Load(name string, data []byte) (*Set, error) {
	fail := func(faults ...error) (*Set, error) { return nil, &FileError{File: name, Faults: faults} }
	if len(data) > maxFileBytes {
		return fail(fmt.Errorf("it has %d bytes, at most %d are taken", len(data), maxFileBytes))
	}
	var f file
	if err := yaml.UnmarshalStrict(data, &f); err != nil {
		return fail(err)
	}
	switch {
	case f.APIVersion != Version:
		return fail(fmt.Errorf("apiVersion is %q; it must be %s", f.APIVersion, Version))
	case len(f.Rules) == 0:
		return fail(errors.New("it has no rules"))
	case len(f.Rules) > maxRules:
		return fail(fmt.Errorf("it has %d rules, at most %d are taken", len(f.Rules), maxRules))
	}
	env, err := environment()
	if err != nil {
		return nil, err
	}
	set, faults := &Set{}, []error(nil)
	seen := map[string]bool{}
	for n, text := range f.Rules {
		if seen[text.Name] && text.Name != "" {
			faults = append(faults, fmt.Errorf("rules[%d]: a second rule is named %s", n, text.Name))
		}
		seen[text.Name] = true
		r, errs := compileRule(env, n, text)
		r.file = name
		faults = append(faults, errs...)
		set.rules = append(set.rules, r)
	}
	if len(faults) > 0 {
		return fail(faults...)
	}
	return set, nil
}

// compileRule compiles the expressions of one rule and returns all that is wrong.
func compileRule(env *envs, n int, text ruleText) (rule, []error) {
	r := rule{name: text.Name, description: text.Description, severity: text.Severity, message: text.Message}
	where := fmt.Sprintf("rules[%d]", n)
	var faults []error
	fault := func(format string, args ...any) {
		faults = append(faults, fmt.Errorf(where+": "+format, args...))
	}
	if text.Name == "" {
		fault("name: give the rule one")
	} else {
		where = "rule " + text.Name
	}
	switch r.severity {
	case "":
		r.severity = Deny
	case Deny, Warn:
	default:
		fault("severity: %q; it is deny or warn", r.severity)
	}
	if (text.Message == "") == (text.Compose == "") {
		fault("give either message, a text, or messageExpression, an expression that makes one")
	}
	program := func(env *cel.Env, field, source string, allowed ...*cel.Type) cel.Program {
		p, err := compile(env, source, allowed)
		if err != nil {
			fault("%s%s", field, err)
		}
		return p
	}
	if text.Deny == "" {
		fault("deny: give an expression that is true, or a list that is not empty, when the rule is broken")
	} else {
		r.deny = program(env.rule, "deny", text.Deny, cel.BoolType, cel.ListType(cel.DynType))
	}
	if text.When != "" {
		r.when = program(env.rule, "when", text.When, cel.BoolType)
	}
	if text.Compose != "" {
		r.compose = program(env.message, "messageExpression", text.Compose, cel.StringType)
	}
	return r, faults
}

// compile checks an expression and its result. Its error begins with the position of the
// first fault, " at line 1, column 9: ...", and shows the source.
func compile(env *cel.Env, source string, allowed []*cel.Type) (cel.Program, error) {
	if len(source) > maxExpression {
		return nil, fmt.Errorf(": it has %d bytes, at most %d are taken", len(source), maxExpression)
	}
	ast, issues := env.Compile(source)
	if err := issues.Err(); err != nil {
		var lines []string
		for _, e := range issues.Errors() {
			lines = append(lines, fmt.Sprintf(" at line %d, column %d: %s", e.Location.Line(), e.Location.Column()+1, e.Message))
		}
		return nil, errors.New(strings.Join(lines, "; and") + "\n    " + strings.ReplaceAll(strings.TrimSpace(source), "\n", "\n    "))
	}
	fits := func(t *cel.Type) bool { return t.IsAssignableType(ast.OutputType()) }
	ok := ast.OutputType().IsExactType(cel.DynType)
	var names []string
	for _, t := range allowed {
		ok = ok || fits(t)
		names = append(names, t.DeclaredTypeName())
	}
	if !ok {
		return nil, fmt.Errorf(": it gives a %s, and must give a %s", ast.OutputType(), strings.Join(names, " or a "))
	}
	p, err := env.Program(ast, cel.CostLimit(maxCost), cel.EvalOptions(cel.OptOptimize))
	if err != nil {
		return nil, fmt.Errorf(": %w", err)
	}
	return p, nil
}

// envs are what expressions may use: of rules, and of messages, which also know what a
// rule matched.
type envs struct{ rule, message *cel.Env }

// environment is made once: it is the same for all files. It has no function that
// reads, asks or waits for anything.
var environment = sync.OnceValues(func() (*envs, error) {
	list, tree := cel.ListType(cel.DynType), cel.MapType(cel.StringType, cel.DynType)
	options := []cel.EnvOption{
		ext.NativeTypes(ext.ParseStructTag("json"),
			reflect.TypeFor[Plan](), reflect.TypeFor[Item](), reflect.TypeFor[Field](), reflect.TypeFor[Header](), reflect.TypeFor[Request]()),
		cel.Variable("plan", cel.ObjectType("policy.Plan")),
		cel.Variable("items", cel.ListType(cel.ObjectType("policy.Item"))),
		cel.Variable("cluster", tree), cel.Variable("spec", tree), cel.Variable("groups", list),
		cel.Variable("applied", tree),
		cel.Variable("request", cel.ObjectType("policy.Request")),
		cel.OptionalTypes(), cel.CrossTypeNumericComparisons(true), cel.DefaultUTCTimeZone(true),
		ext.Strings(ext.StringsVersion(4)), ext.Sets(), ext.Network(),
		cel.ParserRecursionLimit(maxNesting), cel.ParserExpressionSizeLimit(maxExpression),
	}
	rules, err := cel.NewEnv(append(options, functions()...)...)
	if err != nil {
		return nil, fmt.Errorf("prepare the language of policies: %w", err)
	}
	message, err := rules.Extend(cel.Variable("matched", cel.ListType(cel.StringType)))
	if err != nil {
		return nil, fmt.Errorf("prepare the language of policies: %w", err)
	}
	return &envs{rules, message}, nil
})
