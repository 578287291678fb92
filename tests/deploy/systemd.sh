#!/bin/sh
# Become process 1 of a machine of its own: systemd in namespaces, on the cgroup $CGROUP, with the unit in $UNITS.
# $FOLDER has passwd, group and the settings; $PYTHON, $PACKAGES and $SOURCE are what /opt/pitstop is made of.
set -eu
echo $$ > "$CGROUP/cgroup.procs"
exec unshare --mount --pid --ipc --uts --cgroup --fork --mount-proc --kill-child sh -eu -c '
  mount --make-rprivate /
  # Nothing of the machine around is changed from in here.
  mount --bind /proc/sys /proc/sys && mount -o remount,ro,bind /proc/sys
  umount -R /sys/fs/cgroup 2>/dev/null || true
  mount -t cgroup2 cgroup2 /sys/fs/cgroup
  stage=/run/stage
  mount -t tmpfs tmpfs /run
  mkdir -p /run/systemd/system "$stage/python" "$stage/packages" "$stage/source" "$stage/etc"
  cp -r "$UNITS"/. /run/systemd/system
  cp -a /etc/. "$stage/etc"
  cp -r "$FOLDER"/etc/. "$stage/etc"
  mount --bind "$PYTHON" "$stage/python"
  mount --bind "$PACKAGES" "$stage/packages"
  mount --bind "$SOURCE" "$stage/source"
  mount -t tmpfs -o mode=755 tmpfs /opt
  mkdir -p /opt/pitstop/bin /opt/python /opt/packages /opt/source
  for part in python packages source; do mount --bind "$stage/$part" /opt/$part; done
  printf "%s\n" "#!/bin/sh" "export PYTHONPATH=/opt/source:/opt/packages LD_LIBRARY_PATH=/opt/python/lib" \
    "exec /opt/python/bin/python3 -m pitstop.main \"\$@\"" > /opt/pitstop/bin/pitstop
  chmod 755 /opt/pitstop/bin/pitstop
  mount --bind "$stage/etc" /etc
  chown -R pitstop:pitstop /etc/pitstop
  for folder in lib cache log; do mount -t tmpfs -o mode=755 tmpfs /var/$folder; done
  mount -t tmpfs -o mode=1777 tmpfs /tmp
  container=other SYSTEMD_LOG_TARGET=console exec /lib/systemd/systemd --unit=waiting.target --show-status=0
'
