#!/usr/bin/env bash
# Installs the package as a user would into a project of its own, and runs one test under jest, vitest and mocha.
set -euo pipefail
cd "$(dirname "$0")"
project=$(mktemp -d)
trap 'rm -rf "$project"' EXIT

(cd ../.. && npm run --silent build && npm pack --silent --pack-destination "$project")
cp reminder.test.ts jest.config.js tsconfig.json "$project"
cd "$project"
npm init --yes >/dev/null
npm install --silent --no-audit --no-fund ./holdfast-*.tgz \
  jest@30.5.2 ts-jest@29.4.15 @types/jest@30.0.0 vitest@4.1.12 mocha@12.0.3 ts-node@10.9.2 typescript@5.9.3

npx jest
npx vitest run --globals
npx mocha -r ts-node/register reminder.test.ts
