#!/usr/bin/env bash
# Everything that must hold: types, style, the build, all tests, the contract. Ends with a line "N passed, N failed".
set -uo pipefail
cd "$(dirname "$0")/.."

passed=0
failed=0

step() {
  local name=$1
  shift
  echo "── $name"
  if "$@"; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    echo "── $name failed"
  fi
}

report=$(mktemp)
trap 'rm -f "$report"' EXIT

bash scripts/install-servers.sh

step typecheck npm run --silent typecheck
step lint npm run --silent lint
step build npm run --silent build

echo "── tests"
# Through a file: a process that a test has left behind could hold a pipe open.
npx --no-install mocha --no-color "$@" >"$report" 2>&1 &
mocha=$!
tail -n +1 -f --pid=$mocha "$report"
wait $mocha && tests_ok=1 || tests_ok=0
tests_passed=$(grep -Eo '^ +[0-9]+ passing' "$report" | tail -n 1 | grep -Eo '[0-9]+')
tests_failed=$(grep -Eo '^ +[0-9]+ failing' "$report" | tail -n 1 | grep -Eo '[0-9]+')
passed=$((passed + ${tests_passed:-0}))
failed=$((failed + ${tests_failed:-0}))
# A run that broke off without saying how many failed, or that found no test at all, is a failure too.
if [ $tests_ok -eq 0 ] && [ "${tests_failed:-0}" -eq 0 ]; then failed=$((failed + 1)); fi
if [ "${tests_passed:-0}" -eq 0 ]; then failed=$((failed + 1)); fi

if [ -f scripts/contract.ts ]; then step contract npm run --silent contract; fi

echo
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
