# Sums up `go test -v` of many packages: a line for each package, the conformance suites
# with the number of their tests, all skips, and everything that a failed package said.
function flush(failed,   i) {
	if (failed) for (i = 1; i <= n; i++) print lines[i]
	for (name in suites) printf "conformance: %s %s: %d passed\n", pkg, name, suites[name]
	if (skips) { printf "skipped: %s", pkg; for (i = 1; i <= skips; i++) printf " %s", skipped[i]; print "" }
	n = 0; skips = 0; delete suites
}
{ lines[++n] = $0 }
/^ *--- PASS: TestConformance/ { split($3, part, "/"); suites[part[1]]++ }
/^ *--- SKIP: / { skipped[++skips] = $3 }
/^ok / { pkg = $2; flush(0); print; fflush(); next }
/^\?? +.*\[no test files\]$/ { n--; next }
/^FAIL\t/ { pkg = $2; bad = 1; flush(1); fflush(); next }
END { for (i = 1; i <= n; i++) print lines[i]; exit bad }
