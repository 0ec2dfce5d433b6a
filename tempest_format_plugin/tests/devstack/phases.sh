#!/bin/bash
# phases.sh PLUGIN_DIR LOCALRC: sources the plugin phase by phase as DevStack
# does, with stand-ins for what it needs of DevStack, and writes down on
# standard output what it does, one record for each call: the number of its
# words and then the words, each with a NUL behind it. Nothing is done for
# real, and no file is written. From the environment: MOUNTED, the mount points
# that there are at unstack.
set -eo pipefail
exec 3>&1 1>&2
plugin_dir=$1
localrc=$2

record() { printf '%s\0' "$#" "$@" >&3; }

# Of DevStack, what a plugin may count on
# ---------------------------------------

for name in define_plugin enable_plugin inidelete install_package start_service stop_process; do
    eval "$name() { record $name \"\$@\"; }"
done
# What DevStack writes in the background, from before post-config until it is
# waited for. What others write there meanwhile may be lost: here it is.
written_in_background=
async_wait() { written_in_background=; }
iniset() { [[ "$1" == "$written_in_background" ]] || record iniset "$@"; }
die() { shift; echo "[ERROR] $*"; exit 1; }
is_service_enabled() { [[ ,$ENABLED_SERVICES, == *,$1,* ]]; }
is_ubuntu() { true; }
trueorfalse() {
    case ${!2,,} in
        true) echo True ;;
        false) echo False ;;
        *) echo "$1" ;;
    esac
}

# And of the machine
# ------------------

# The last command of a pipe, "sudo tee" is one, may write to "there".
shopt -s lastpipe
declare -A there
mount_points=()
findmnt() { printf '%s\n' / /proc /opt/stack "${mount_points[@]}"; }
sudo() {
    case "$1 $2" in
        "tee "*)
            there[$2]=
            record tee "$2" "$(cat)"
            return
            ;;
        "test -"*)
            [[ -v "there[$3]" ]]
            return
            ;;
        "install -d") there[${*: -1}]= ;;
        "rm "* | "rmdir "*) unset "there[${*: -1}]" ;;
        "umount "*)
            for index in "${!mount_points[@]}"; do
                [[ "${mount_points[index]}" != "${*: -1}" ]] || unset "mount_points[index]"
            done
            ;;
    esac
    record sudo "$@"
}

# What stack.sh does
# ------------------

# shellcheck disable=SC2034  # The plugin's.
{
    STACK_USER=stack
    DATA_DIR=/opt/stack/data
    ENABLED_SERVICES=key,g-api,placement-api,n-api,n-cpu,n-cond,n-sch,c-api,c-sch,c-vol,q-svc,rabbit,mysql,tempest
    # shellcheck source=/dev/null
    source "$localrc"
    # shellcheck source=/dev/null
    source "$plugin_dir/override-defaults"
    NOVA_STATE_PATH=$DATA_DIR/nova
    NOVA_INSTANCES_PATH=$NOVA_STATE_PATH/instances
    NOVA_CONF=/etc/nova/nova.conf
    NOVA_CPU_CONF=/etc/nova/nova-cpu.conf
    GLANCE_API_CONF=/etc/glance/glance-api.conf
    GLANCE_ENFORCE_IMAGE_FORMAT=$(trueorfalse True GLANCE_ENFORCE_IMAGE_FORMAT)
    CINDER_CONF=/etc/cinder/cinder.conf
    CINDER_STATE_PATH=$DATA_DIR/cinder
    CINDER_ENABLED_BACKENDS=${CINDER_ENABLED_BACKENDS:-lvm:lvmdriver-1}
    CINDER_IMG_CACHE_ENABLED=$(trueorfalse True CINDER_IMG_CACHE_ENABLED)
    TEMPEST_CONFIG=/opt/stack/tempest/etc/tempest.conf
    # shellcheck source=/dev/null
    source "$plugin_dir/settings"
}

phase() {
    record phase "$@"
    # shellcheck source=/dev/null
    source "$plugin_dir/plugin.sh" "$@"
}

phase stack pre-install
# What DevStack itself writes of the options that the plugin is about.
if is_service_enabled g-api; then
    iniset $GLANCE_API_CONF image_format require_image_format_match "$GLANCE_ENFORCE_IMAGE_FORMAT"
fi
if is_service_enabled c-vol; then
    backend=${CINDER_ENABLED_BACKENDS##*:}
    if [[ $CINDER_ENABLED_BACKENDS == nfs:* ]]; then
        iniset $CINDER_CONF "$backend" nas_host localhost
        iniset $CINDER_CONF "$backend" nas_share_path "$NFS_EXPORT_DIR"
        iniset $CINDER_CONF "$backend" nas_secure_file_operations "$NFS_SECURE_FILE_OPERATIONS"
        iniset $CINDER_CONF "$backend" nas_secure_file_permissions "$NFS_SECURE_FILE_PERMISSIONS"
        record tee "/etc/cinder/nfs-shares-$backend.conf" "$CINDER_NFS_SERVERPATH"
    fi
    iniset $CINDER_CONF "$backend" image_volume_cache_enabled "$CINDER_IMG_CACHE_ENABLED"
fi
phase stack install
written_in_background=$NOVA_CONF
phase stack post-config
async_wait configure_neutron_nova
record merge post-config
record copy $NOVA_CONF $NOVA_CPU_CONF
phase stack extra
if is_service_enabled tempest; then
    iniset $TEMPEST_CONFIG image-feature-enabled image_format_enforcement "$GLANCE_ENFORCE_IMAGE_FORMAT"
    iniset $TEMPEST_CONFIG compute-feature-enabled live_migration "${LIVE_MIGRATION_AVAILABLE:-False}"
    iniset $TEMPEST_CONFIG compute-feature-enabled block_migration_for_live_migration "${USE_BLOCK_MIGRATION_FOR_LIVE_MIGRATION:-False}"
fi
phase stack test-config
record merge test-config
read -ra mount_points <<<"$MOUNTED"
for phase in unstack clean; do
    phase $phase
    record left "${!there[@]}" "${mount_points[@]}"
done
