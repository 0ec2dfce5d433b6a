# shellcheck shell=bash
# DevStack sources this file once for each phase, after "settings", which has
# the knobs. It tells this host's services what the knobs say about the formats
# of disks, and undoes all of it at unstack and at clean.

# The role format_nfs_export has the same file, so that the two don't export a
# directory twice.
FORMAT_EXPORTS_FILE=/etc/exports.d/format.exports

# The name of cinder's backend of type nfs: its section of cinder.conf and its
# volume type too. Nothing if there is none.
function format_nfs_backend {
    local backend
    for backend in ${CINDER_ENABLED_BACKENDS//,/ }; do
        if [[ "${backend%%:*}" == nfs ]]; then
            echo "${backend##*:}"
            return
        fi
    done
}

# Whether it is this plugin that exports the directory of the volumes.
function format_serves_nfs {
    is_service_enabled c-vol &&
        [[ -n "$FORMAT_NFS_EXPORT" && -n "$FORMAT_NFS_CLIENTS" ]]
}

# format_set FILE SECTION OPTION VALUE: an empty value leaves the option alone.
function format_set {
    if [[ -n "$4" ]]; then
        iniset "$1" "$2" "$3" "$4"
    fi
}

# A knob that is misspelt would make a cloud that proves something else than
# its local.conf says: then rather none.
function format_check_settings {
    local knob
    if [[ ! "$FORMAT_IMAGES_TYPE" =~ ^(raw|flat|qcow2)?$ ]]; then
        die $LINENO "FORMAT_IMAGES_TYPE: expected raw, flat or qcow2, got $FORMAT_IMAGES_TYPE"
    fi
    for knob in FORMAT_USE_COW_IMAGES FORMAT_FORCE_RAW_IMAGES FORMAT_GLANCE_ENFORCE; do
        if [[ ! "${!knob,,}" =~ ^(true|false)?$ ]]; then
            die $LINENO "$knob: expected True or False, got ${!knob}"
        fi
    done
    if [[ ! "$FORMAT_NFS_EXPORT" =~ ^(/[^[:space:]]*[^/[:space:]])?$ ]]; then
        die $LINENO "FORMAT_NFS_EXPORT: expected the absolute path of a directory, without spaces, got $FORMAT_NFS_EXPORT"
    fi
    if [[ -n "$FORMAT_NFS_CLIENTS" && -z "$FORMAT_NFS_EXPORT" ]]; then
        die $LINENO "FORMAT_NFS_CLIENTS is $FORMAT_NFS_CLIENTS, but FORMAT_NFS_EXPORT names no directory"
    fi
    if [[ -n "$FORMAT_NFS_EXPORT" && -z "$(format_nfs_backend)" ]]; then
        die $LINENO "FORMAT_NFS_EXPORT is $FORMAT_NFS_EXPORT, but CINDER_ENABLED_BACKENDS has no backend of type nfs: $CINDER_ENABLED_BACKENDS"
    fi
}

function format_install_packages {
    if [[ -z "$(format_nfs_backend)" ]]; then
        return
    fi
    if ! is_ubuntu; then
        install_package nfs-utils
    elif format_serves_nfs; then
        install_package nfs-common nfs-kernel-server
    else
        install_package nfs-common
    fi
}

function format_export_nfs {
    local client
    sudo install -d -o "$STACK_USER" -m 755 "$FORMAT_NFS_EXPORT"
    sudo install -d -m 755 "$(dirname $FORMAT_EXPORTS_FILE)"
    # exportfs fails where a client is named twice. cinder and nova write as
    # root.
    for client in $(tr , '\n' <<<"$HOST_IP,$FORMAT_NFS_CLIENTS" | sort -u); do
        echo "$FORMAT_NFS_EXPORT $client(rw,sync,no_root_squash,no_subtree_check)"
    done | sudo tee $FORMAT_EXPORTS_FILE
    start_service nfs-server
    sudo exportfs -ra
}

# All of this goes to $NOVA_CONF and nothing to $NOVA_CPU_CONF, which
# nova-compute reads: DevStack makes that file anew, from $NOVA_CONF, when it
# starts nova-compute, and what a plugin has put there is lost.
function format_configure_nova {
    # DevStack writes this file in the background all through post-config, and
    # of what two write at a time one loses. It waits later; who has waited
    # already doesn't hold it up.
    async_wait configure_neutron_nova
    format_set "$NOVA_CONF" libvirt images_type "$FORMAT_IMAGES_TYPE"
    format_set "$NOVA_CONF" DEFAULT use_cow_images "$FORMAT_USE_COW_IMAGES"
    format_set "$NOVA_CONF" DEFAULT force_raw_images "$FORMAT_FORCE_RAW_IMAGES"
}

function format_configure_cinder {
    local backend
    backend=$(format_nfs_backend)
    if [[ -z "$backend" ]]; then
        return
    fi
    # DevStack has localhost here, which to every compute host is itself.
    # Without these two the file of shares holds, that is,
    # CINDER_NFS_SERVERPATH.
    inidelete "$CINDER_CONF" "$backend" nas_host
    inidelete "$CINDER_CONF" "$backend" nas_share_path
    iniset "$CINDER_CONF" "$backend" nfs_snapshot_support True
    # The guests are another user than cinder-volume.
    iniset "$CINDER_CONF" "$backend" nas_secure_file_operations False
    iniset "$CINDER_CONF" "$backend" nas_secure_file_permissions False
}

function format_configure_glance {
    format_set "$GLANCE_API_CONF" image_format disk_formats "$FORMAT_GLANCE_DISK_FORMATS"
}

function format_configure_tempest {
    local formats=,${FORMAT_GLANCE_DISK_FORMATS// /},
    iniset "$TEMPEST_CONFIG" disk_format profile devstack
    iniset "$TEMPEST_CONFIG" disk_format instances_path "$NOVA_INSTANCES_PATH"
    if [[ "$formats" == ,, || "$formats" == *,raw,* ]]; then
        iniset "$TEMPEST_CONFIG" disk_format raw_images_allowed True
    else
        iniset "$TEMPEST_CONFIG" disk_format raw_images_allowed False
    fi
    format_set "$TEMPEST_CONFIG" disk_format nfs_volume_type "$(format_nfs_backend)"
    format_set "$TEMPEST_CONFIG" disk_format known_bugs "$FORMAT_KNOWN_BUGS"
    format_set "$TEMPEST_CONFIG" disk_format compute_backends "$FORMAT_COMPUTE_BACKENDS"
    format_set "$TEMPEST_CONFIG" disk_format compute_addresses "$FORMAT_COMPUTE_ADDRESSES"
    format_set "$TEMPEST_CONFIG" disk_format ssh_user "$FORMAT_SSH_USER"
    format_set "$TEMPEST_CONFIG" disk_format ssh_key_file "$FORMAT_SSH_KEY_FILE"
    format_set "$TEMPEST_CONFIG" disk_format ssh_known_hosts_file "$FORMAT_SSH_KNOWN_HOSTS_FILE"
}

# format_unmount DIRECTORY SERVICE...: unmount what the services have mounted
# in the directory. They are stopped first, since they would mount it again;
# guests that DevStack has yet to end may have a disk there, hence lazily.
function format_unmount {
    local directory=$1 mounted target service
    shift
    mounted=$(findmnt --raw --noheadings --output TARGET |
        awk -v directory="$directory/" 'index($0, directory) == 1')
    if [[ -z "$mounted" ]]; then
        return
    fi
    for service in "$@"; do
        stop_process "$service"
    done
    for target in $(tac <<<"$mounted"); do
        sudo umount --lazy "$target"
    done
}

# After this phase DevStack removes the directories of nova and cinder with all
# that is below them. Through a mount that would be the volumes of the whole
# cloud.
function format_undo {
    if is_service_enabled n-cpu; then
        format_unmount "$NOVA_STATE_PATH/mnt" n-cpu
    fi
    if is_service_enabled c-vol; then
        format_unmount "$CINDER_STATE_PATH/mnt" c-vol c-bak
    fi
    if format_serves_nfs; then
        if sudo test -e $FORMAT_EXPORTS_FILE; then
            sudo rm $FORMAT_EXPORTS_FILE
            sudo exportfs -ra
        fi
        # Only what cinder has made: the directory may have been there before.
        if sudo test -d "$FORMAT_NFS_EXPORT"; then
            sudo find "$FORMAT_NFS_EXPORT" -maxdepth 1 -type f -name 'volume-*' -delete
            sudo rmdir --ignore-fail-on-non-empty "$FORMAT_NFS_EXPORT"
        fi
    fi
}

case "$*" in
    "stack pre-install")
        format_check_settings
        format_install_packages
        if format_serves_nfs; then
            format_export_nfs
        fi
        ;;
    "stack post-config")
        if is_service_enabled n-cpu; then
            format_configure_nova
        fi
        if is_service_enabled c-vol; then
            format_configure_cinder
        fi
        if is_service_enabled g-api; then
            format_configure_glance
        fi
        ;;
    "stack test-config")
        if is_service_enabled tempest; then
            format_configure_tempest
        fi
        ;;
    unstack | clean)
        format_undo
        ;;
esac
