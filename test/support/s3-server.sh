#!/usr/bin/env bash
# A real S3-compatible server (Ceph's radosgw over memory) in the empty folder $1, on the ports $2 (HTTP), $3 and $4.
# Every daemon writes its pid under $1/run. Prints "ready".
set -euo pipefail
D=$1
cd "$D"
mkdir -p mon osd mgr rgw log run
fsid=$(cat /proc/sys/kernel/random/uuid)
osd=$(cat /proc/sys/kernel/random/uuid)
cat > ceph.conf <<C
[global]
fsid = $fsid
mon host = [v2:127.0.0.1:$3,v1:127.0.0.1:$4]
mon initial members = a
auth cluster required = cephx
auth service required = cephx
auth client required = cephx
keyring = $D/all.keyring
osd pool default size = 1
osd pool default min size = 1
osd pool default pg num = 1
mon allow pool size one = true
osd crush chooseleaf type = 0
mon max pg per osd = 1000
public addr = 127.0.0.1
cluster addr = 127.0.0.1
run dir = $D/run
log file = $D/log/\$name.log
admin socket = $D/run/\$name.asok
pid file = $D/run/\$name.pid
[mon.a]
mon data = $D/mon
[mgr.x]
mgr data = $D/mgr
[osd.0]
osd data = $D/osd
osd objectstore = memstore
[client.rgw]
rgw data = $D/rgw
rgw frontends = beast endpoint=127.0.0.1:$2 tcp_nodelay=1
C
export CEPH_CONF=$D/ceph.conf
{
  key="ceph-authtool all.keyring --gen-key -n"
  ceph-authtool --create-keyring all.keyring --gen-key -n mon. --cap mon 'allow *'
  $key client.admin --cap mon 'allow *' --cap osd 'allow *' --cap mgr 'allow *'
  $key mgr.x --cap mon 'allow profile mgr' --cap osd 'allow *'
  $key osd.0 --cap mon 'allow profile osd' --cap mgr 'allow profile osd' --cap osd 'allow *'
  $key client.rgw --cap mon 'allow rwx' --cap osd 'allow rwx'
  monmaptool --create --addv a "[v2:127.0.0.1:$3,v1:127.0.0.1:$4]" --fsid "$fsid" monmap
  ceph-mon --mkfs -i a --monmap monmap --keyring all.keyring
  ceph-mon -i a --setuser root --setgroup root
  until timeout 2 ceph mon stat; do :; done
  ceph-mgr -i x
  ceph osd new "$osd"
  ceph auth import -i all.keyring
  ceph-osd -i 0 --mkfs --osd-uuid "$osd"
  cp all.keyring osd/keyring
  ceph-osd -i 0
  radosgw -n client.rgw --setuser root --setgroup root
  radosgw-admin user create --uid=t --display-name=t --access-key=AK --secret-key=SKSKSKSK
  until curl -sf -o /dev/null "http://127.0.0.1:$2/"; do sleep 0.2; done
  # Of an empty body.
  sha=e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855
  curl -sf -X PUT -H "x-amz-content-sha256: $sha" --aws-sigv4 aws:amz:us-east-1:s3 --user AK:SKSKSKSK "http://127.0.0.1:$2/holdfast"
} > setup.log 2>&1
echo ready
