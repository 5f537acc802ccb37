#!/usr/bin/env bash
# Installs the servers that tests start, where they are missing and apt-get may install them. Says what is not to be had:
# without Redis the tests fail that need it, without the others their tests are skipped.
set -uo pipefail

missing() {
  local name
  for name in "$@"; do command -v "$name" > /dev/null || [ -n "$(ls /usr/lib/postgresql/*/bin/"$name" 2> /dev/null)" ] || return 0; done
  return 1
}

as_root() {
  if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo -n "$@"; fi
}

may_install() {
  command -v apt-get > /dev/null || return 1
  [ "$(id -u)" -eq 0 ] || sudo -n true 2> /dev/null
}

updated=
install() {
  may_install || return 1
  if [ -z "$updated" ]; then as_root timeout 120 apt-get update -qq > /dev/null 2>&1; updated=1; fi
  as_root env DEBIAN_FRONTEND=noninteractive timeout 600 apt-get install -y -qq --no-install-recommends "$@" > /dev/null 2>&1
}

# need <what for> <programs> -- <packages>
need() {
  local purpose=$1 programs=()
  shift
  while [ "$1" != -- ]; do programs+=("$1"); shift; done
  shift
  missing "${programs[@]}" || return 0
  echo "installing $* ($purpose)"
  install "$@"
  if missing "${programs[@]}"; then echo "$* cannot be installed: $purpose"; fi
}

need "Redis tests fail without it" redis-server -- redis-server
need "tests of SQL are skipped" initdb postgres -- postgresql
need "tests on S3 are skipped" radosgw ceph-mon ceph-osd ceph-mgr ceph ceph-authtool monmaptool curl -- radosgw ceph-mon ceph-osd ceph-mgr ceph-common curl
