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

reports=$(mktemp -d)
failures=$reports/failures
touch "$failures"
trap 'for job in $(jobs -p); do pkill -P "$job"; done 2>/dev/null; rm -rf "$reports"' EXIT

bash scripts/install-servers.sh

step typecheck npm run --silent typecheck
step lint npm run --silent lint
step build npm run --silent build

# Runs mocha. Through a file: a process that a test has left behind could hold a pipe open.
run() {
  local name=$1
  shift
  npx --no-install mocha --no-color "$@" >"$reports/$name" 2>&1
  echo $? >"$reports/$name.code"
}

# Prints what a process runs until that ends, and counts it.
finish() {
  local name=$1 running=$2
  echo "── $name"
  touch "$reports/$name"
  tail -n +1 -f --pid="$running" "$reports/$name"
  wait "$running"
  count "$reports/$name" "$(cat "$reports/$name.code")"
}

if [ $# -gt 0 ]; then
  run tests "$@" &
  finish tests $!
else
  machines='test/{cluster,rounds}'
  servers='test/{dispatch,faults,search,soak,store}'

  # Where machines die and stand still, leases and heartbeats are real time: beside them goes only what mostly waits.
  run machines --config test/mocha.json "$machines/*.test.ts" &
  first=$!
  run servers --config test/mocha.json "$servers/*.test.ts" &
  second=$!
  finish machines $first
  finish servers $second

  # All of the contract on these takes 17 minutes: STACKS=s3,redis,bullmq npm run test:contract
  some=(channel drain heartbeat lock-returned rpc step stop wait)
  core=("${some[@]}" async complete-if-empty decision lock rpc-closing rpc-deadline rpc-locks start-and-call subflow)
  stacks=bullmq
  if command -v radosgw >/dev/null; then stacks=s3,$stacks; fi
  run "one process" --config test/mocha.json --ignore "$machines/**" --ignore "$servers/**" 'test/**/*.test.ts' &
  first=$!
  {
    STACKS=redis run "core on redis" --config test/mocha.json $(printf 'test/contract/%s.test.ts ' "${core[@]}")
    STACKS=$stacks run "some on $stacks" --config test/mocha.json $(printf 'test/contract/%s.test.ts ' "${some[@]}")
  } &
  second=$!
  finish "one process" $first
  finish "core on redis" $second
  finish "some on $stacks" $second
fi

step contract npm run --silent contract

head -c 8000 "$failures"
echo
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
