#!/bin/bash
# dry_run.sh DEVSTACK_DIR PLUGIN_DIR LOCAL_CONF RESULTS NAME: run stack.sh,
# unstack.sh and clean.sh of a DevStack checkout, with the plugin, on a machine
# of that name that is this one's look-alike: in namespaces of its own, its root
# an overlay that is thrown away. It has no network, and what would install,
# start or ask something is replaced by stand-ins, which write down how they are
# called. Of this machine nothing but RESULTS is written: see dry_run.py for
# what is left there. Needs root.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

if [ "${1:-}" != --inside ]; then
    exec unshare --mount --pid --net --uts --ipc --fork --propagation private \
        env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 HOME=/opt/stack \
        bash "$0" --inside "$@"
fi
shift
devstack_dir=$1 plugin_dir=$2 local_conf=$3 results=$4 name=$5

# The machine
# -----------

scratch=$results/scratch
mkdir -p "$scratch"
mount -t tmpfs tmpfs "$scratch"
root=$scratch/root
mkdir "$scratch"/{upper,work,root}
mount -t overlay overlay -o "lowerdir=/,upperdir=$scratch/upper,workdir=$scratch/work" "$root"
# What this machine has of DevStack, NFS or the services is none of the dry
# run's business.
rm -rf "$root"/opt/stack "$root"/srv/* "$root"/etc/{apache2,cinder,exports,exports.d,glance,iscsi,keystone,libvirt,neutron,nova,placement}
mount -t proc proc "$root/proc"
mount -t sysfs -o ro sysfs "$root/sys"
# DevStack tunes the kernel by files here.
mount -t tmpfs tmpfs "$root/sys/kernel/mm"
mkdir "$root/sys/kernel/mm/ksm"
for path in dev run tmp; do
    mount -t tmpfs tmpfs "$root/$path"
done
for device in full null random urandom zero; do
    touch "$root/dev/$device"
    mount --bind "/dev/$device" "$root/dev/$device"
done
ln -s /proc/self/fd "$root/dev/fd"
ln -s /proc/self/fd/0 "$root/dev/stdin"
ln -s /proc/self/fd/1 "$root/dev/stdout"
ln -s /proc/self/fd/2 "$root/dev/stderr"
mkdir -p "$root/dev/shm" "$root/run/lock" "$root/mnt"
bind() {
    mkdir -p "$root$2"
    mount --bind "$1" "$root$2"
    mount -o "remount,bind,$3" "$root$2"
}
bind "$devstack_dir" /mnt/devstack ro
bind "$here/stand_ins" /opt/stack/stand_ins ro
bind "$plugin_dir" /opt/stack/tempest-format-plugin/devstack ro
mkdir -p "$results/out"
bind "$results/out" /mnt/results rw
cp "$local_conf" "$root/mnt/local.conf"
mkdir "$root/mnt/old"
pivot_root "$root" "$root/mnt/old"
cd /
umount -l /mnt/old

hostname "$name"
ip link set lo up
ip address add "$(sed -n 's/^HOST_IP=//p' /mnt/local.conf)/32" dev lo
echo "127.0.0.1 localhost $name" >/etc/hosts
# Files that DevStack gives to its user must not need one.
echo 'stack:x:0:0::/opt/stack:/bin/bash' >>/etc/passwd
echo 'stack:x:0:' >>/etc/group

# Stand-ins for commands
# ----------------------

cat >/usr/local/sbin/record <<'RECORD'
#!/bin/bash
echo "${0##*/} $*" >>/mnt/results/calls
RECORD
cat >/usr/local/sbin/sudo <<'SUDO'
#!/bin/bash
while [[ "$1" == -* ]]; do
    [[ "$1" != -[ugU] ]] || shift
    shift
done
exec env "$@"
SUDO
chmod 755 /usr/local/sbin/{record,sudo}
# The venv is first in PATH when DevStack runs.
venv=/opt/stack/data/venv
mkdir -p $venv/bin
ln -s "$(command -v python3)" $venv/bin/python3
for name in a2disconf a2dismod a2dissite a2enconf a2enmod a2ensite add-apt-repository apache2ctl apt-get \
    cinder-manage cinder-rtstool curl dbus-send dmsetup dpkg-query ebtables exportfs git glance-manage \
    hostnamectl ip6tables iptables iptables-save iscsiadm keystone-manage killall locale-gen losetup \
    lvremove lvs modprobe mysql mysqladmin nova-manage nova-status nvme openstack ovn-nbctl ovs-ofctl ovs-vsctl \
    pip pip3 pkill placement-manage ps pvs rabbitmqctl service setfacl swapoff swapon sysctl tcpdump \
    tgtadm tox udevadm update-alternatives usermod uwsgi vgcreate vgremove vgs virsh wget; do
    ln -s /usr/local/sbin/record $venv/bin/$name
    ln -sf /usr/local/sbin/record /usr/local/sbin/$name
done
for path in bindep-venv/bin/{pip,bindep} requirements/.venv/bin/edit-constraints; do
    mkdir -p "/opt/stack/$(dirname "$path")"
    ln -s /usr/local/sbin/record "/opt/stack/$path"
done
# By its path, DevStack calls this one alone.
ln -sf /usr/local/sbin/record /usr/bin/systemctl

# DevStack
# --------

mkdir -p /opt/stack/devstack
tar -C /mnt/devstack --exclude=.git -c . | tar -C /opt/stack/devstack -x --no-same-owner
cd /opt/stack/devstack
# The one edit: it refuses to run as root.
sed -i 's/EUID -eq 0/EUID -eq -1/' stack.sh unstack.sh
cat /mnt/local.conf - >local.conf <<'LOCAL_CONF'

[[local|localrc]]
enable_plugin stand_ins file:///none
OFFLINE=True
VERBOSE=True
DOWNLOAD_DEFAULT_IMAGES=False
NEUTRON_CREATE_INITIAL_NETWORKS=False
disable_service horizon
LOCAL_CONF
# What DevStack copies out of the projects' checkouts and environments.
for path in cinder/etc/cinder/{api-paste.ini,resource_filters.json} glance/etc/{glance-api-paste.ini,schema-image.json} \
    glance/etc/metadefs/any.json nova/etc/nova/{api-paste.ini,rootwrap.conf} nova/tools/nova-manage.bash_completion \
    data/venv/etc/{cinder,glance,neutron,nova}/rootwrap.{conf,d/any} requirements/upper-constraints.txt \
    keystone/setup.cfg os-test-images/any tempest/etc/any; do
    mkdir -p "/opt/stack/$(dirname "$path")"
    touch "/opt/stack/$path"
done
mkdir -p /etc/apache2/{conf,sites}-{available,enabled} /etc/{iscsi,libvirt,lvm} /etc/bash_completion.d
touch /etc/libvirt/{libvirtd,qemu}.conf

stage() {
    local name=$1
    shift
    echo "== $name" | tee -a /mnt/results/calls
    "$@" </dev/null >"/mnt/results/$name.log" 2>&1 || {
        echo "$* ended with $?:" >&2
        tail -n 40 "/mnt/results/$name.log" >&2
        exit 1
    }
    # What the hosts are compared by.
    local kept=/mnt/results/$name path
    mkdir "$kept"
    for path in /etc/{cinder/*.conf,exports.d/*,glance/glance-api.conf,nova/*.conf} /opt/stack/tempest/etc/tempest.conf; do
        [ ! -f "$path" ] || install -D -m 644 "$path" "$kept$path"
    done
    findmnt --raw --noheadings --output TARGET >"$kept/mounted"
    find /srv /opt/stack/data/{cinder,nova}/mnt -type f 2>/dev/null | sort >"$kept/files" || true
    find /srv -mindepth 1 -type d >"$kept/directories"
}

stage stack bash ./stack.sh
# What a cloud in use has: on the export of somebody else, mounted by both
# services, and on its own.
mkdir -p /srv/others
touch /srv/others/volume-1
for service in nova cinder; do
    if [ "$service" = nova ] || [ -d /opt/stack/data/cinder ]; then
        mkdir -p /opt/stack/data/$service/mnt/5a7e
        mount --bind /srv/others /opt/stack/data/$service/mnt/5a7e
    fi
done
if [ -d /srv/format-nfs ]; then
    touch /srv/format-nfs/{volume-1,volume-1.2,of-the-user}
fi
stage unstack bash ./unstack.sh
rm -f /srv/format-nfs/of-the-user
stage clean bash ./clean.sh
