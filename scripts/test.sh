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
  # What failed is said again at the very end, where whoever reads only that finds it.
  if [ -n "$bad" ]; then sed -n "$(grep -nE '^ +[0-9]+ failing' "$report" | tail -n 1 | cut -d: -f1),\$p" "$report" >>"$failures"; fi
  # A run that broke off without saying how many failed, or that found no test at all, is a failure too.
  if [ "$code" -ne 0 ] && [ "${bad:-0}" -eq 0 ]; then failed=$((failed + 1)); fi
  if [ "${good:-0}" -eq 0 ]; then failed=$((failed + 1)); fi
}

report=$(mktemp)
failures=$(mktemp)
trap 'rm -f "$report" "$failures"' EXIT

bash scripts/install-servers.sh

step typecheck npm run --silent typecheck
step lint npm run --silent lint
step build npm run --silent build

# Through a file: a process that a test has left behind could hold a pipe open.
mocha() {
  local name=$1
  shift
  echo "── $name"
  npx --no-install mocha --no-color "$@" >"$report" 2>&1 &
  local running=$!
  tail -n +1 -f --pid=$running "$report"
  wait $running
  count "$report" $?
}

mocha tests "$@"

if [ $# -eq 0 ]; then
  contract=(--no-config --extension ts -r ts-node/register -r reflect-metadata -r ./test/support/end-of-run.ts --timeout 60000)
  # All of it on these takes 17 minutes: STACKS=s3,redis,bullmq npm run test:contract
  core=(async channel complete-if-empty decision drain heartbeat lock lock-returned rpc rpc-closing rpc-deadline rpc-locks)
  core+=(start-and-call step stop subflow wait)
  stacks=redis,bullmq
  if command -v radosgw >/dev/null; then stacks=s3,$stacks; fi
  STACKS=$stacks mocha "the core of the contract on $stacks" "${contract[@]}" $(printf 'test/contract/%s.test.ts ' "${core[@]}")
fi

step contract npm run --silent contract

head -c 8000 "$failures"
echo
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
