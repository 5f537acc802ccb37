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

# Adds up what mocha has reported in a file, given its exit code.
count() {
  local report=$1 code=$2 good bad
  good=$(grep -Eo '^ +[0-9]+ passing' "$report" | tail -n 1 | grep -Eo '[0-9]+')
  bad=$(grep -Eo '^ +[0-9]+ failing' "$report" | tail -n 1 | grep -Eo '[0-9]+')
  passed=$((passed + ${good:-0}))
  failed=$((failed + ${bad:-0}))
  # A run that broke off without saying how many failed, or that found no test at all, is a failure too.
  if [ "$code" -ne 0 ] && [ "${bad:-0}" -eq 0 ]; then failed=$((failed + 1)); fi
  if [ "${good:-0}" -eq 0 ]; then failed=$((failed + 1)); fi
}

reports=$(mktemp -d)
trap 'rm -rf "$reports"' EXIT

bash scripts/install-servers.sh

step typecheck npm run --silent typecheck
step lint npm run --silent lint
step build npm run --silent build

# Through files: a process that a test has left behind could hold a pipe open.
if [ $# -eq 0 ]; then
  # The contract on servers mostly waits for them: it runs beside everything else.
  STACKS=redis,bullmq,s3 npm run --silent test:contract -- --no-color >"$reports/servers" 2>&1 &
  servers=$!
fi

echo "── tests"
npx --no-install mocha --no-color "$@" >"$reports/tests" 2>&1 &
tests=$!
tail -n +1 -f --pid=$tests "$reports/tests"
wait $tests
count "$reports/tests" $?

if [ $# -eq 0 ]; then
  echo "── the contract on Redis, BullMQ and S3"
  tail -n +1 -f --pid=$servers "$reports/servers"
  wait $servers
  count "$reports/servers" $?
fi

step contract npm run --silent contract

echo
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
