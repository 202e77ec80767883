#!/usr/bin/env bash
# Makes a root of its own out of an overlay of this machine's files, and runs a program as its first process: whatever the program writes or
# removes, the machine keeps what it has. Needs root; `unshare --pid --mount --fork …` runs this script.
# boot.sh FOLDER PROGRAM…: FOLDER takes the changes, and must not be on an overlay itself.
set -euo pipefail
folder=$1
shift
root=$folder/root
mkdir -p "$folder/changes" "$folder/work" "$root"
mount --make-rprivate /
mount -t overlay overlay -o "lowerdir=/,upperdir=$folder/changes,workdir=$folder/work" "$root"
cd "$root"
mount -t proc proc proc
mount -t sysfs sysfs sys
mount -t tmpfs tmpfs run
mount -t tmpfs tmpfs tmp
mount -t tmpfs tmpfs dev
for device in null zero full random urandom tty; do
  touch "dev/$device"
  mount --bind "/dev/$device" "dev/$device"
done
ln -s pts/ptmx dev/ptmx
mkdir dev/pts dev/shm
mount -t devpts devpts dev/pts
mount -t tmpfs tmpfs dev/shm
mount -t tmpfs tmpfs sys/fs/cgroup
mkdir sys/fs/cgroup/systemd
mount -t cgroup -o none,name=systemd cgroup sys/fs/cgroup/systemd
ip link set lo up
# The services of this machine stay off; the units of Mainspring need little more than the targets.
rm -rf etc/systemd/system
mkdir -p etc/systemd/system
cat >etc/systemd/system/machine.target <<'UNIT'
[Unit]
Requires=basic.target
After=basic.target
UNIT
mkdir before
pivot_root . before
cd /
umount --lazy /before
# systemd mounts credentials in a child that shares the mounts.
mount --make-rshared /
exec env --ignore-environment container=other PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "$@"
