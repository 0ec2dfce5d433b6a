# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.


"""What can be found out of a cloud before anything is set for it."""

import dataclasses

# Image backends (images_type) that go by files of a format.
FILE_BACKENDS = ('raw', 'flat', 'qcow2')

# What keystone's catalog may call cinder, the oldest first.
_VOLUME_CATALOG_TYPES = ('volumev3', 'block-storage', 'block-store')


@dataclasses.dataclass(frozen=True)
class HostFacts:
    """A compute host, as nova lists it and as it says itself.

    What couldn't be found out is None, and problems says why.

    :ivar host: its name in nova
    :ivar address: where SSH reaches it
    :ivar deployment: the name of the deployment profile
    :ivar images_type: effective [libvirt] images_type: never 'default'
    :ivar instances_path: as nova-compute sees it
    :ivar nova, libvirt, qemu: versions
    :ivar overrides: {option of [disk_format]: value} where this host differs
        from the profile's defaults
    :ivar problems: what couldn't be found out and why, a line each
    :ivar out_of_service: why nova puts no servers there: disabled or down;
        None: it does
    """

    host: str
    address: str
    deployment: str | None = None
    images_type: str | None = None
    use_cow_images: bool | None = None
    force_raw_images: bool | None = None
    instances_path: str | None = None
    nova: str | None = None
    libvirt: str | None = None
    qemu: str | None = None
    overrides: dict = dataclasses.field(default_factory=dict)
    problems: tuple[str, ...] = ()
    out_of_service: str | None = None


@dataclasses.dataclass(frozen=True)
class PoolFacts:
    """A pool of cinder's volumes.

    :ivar name: host@backend#pool
    :ivar backend: its volume_backend_name; None where it has none
    :ivar storage_protocol: as cinder reports it: NFS, ceph, iSCSI, ...
    :ivar vendor, driver_version: None where the driver doesn't tell
    """

    name: str
    storage_protocol: str
    backend: str | None = None
    vendor: str | None = None
    driver_version: str | None = None


@dataclasses.dataclass(frozen=True)
class ImageFacts:
    """An image that servers of every project may be made from.

    :ivar size: bytes that its disk takes as raw
    :ivar min_ram: MiB
    :ivar min_disk: GiB
    :ivar size_known: False: glance tells only what the file takes
    """

    id: str
    name: str
    disk_format: str
    size: int
    min_ram: int = 0
    min_disk: int = 0
    size_known: bool = True


@dataclasses.dataclass(frozen=True)
class CloudFacts:
    """A cloud.

    :ivar microversions: {compute, volume or placement: highest microversion
        of its API}
    :ivar services: types in keystone's catalog, of the region
    :ivar nfs_volume_types: names of the volume types whose volumes lie on NFS
    :ivar images: the smallest first
    :ivar raw_images_allowed: whether glance takes raw images
    :ivar problems: as of HostFacts, about the cloud as a whole
    """

    hosts: tuple[HostFacts, ...] = ()
    pools: tuple[PoolFacts, ...] = ()
    microversions: dict = dataclasses.field(default_factory=dict)
    services: tuple[str, ...] = ()
    nfs_volume_types: tuple[str, ...] = ()
    images: tuple[ImageFacts, ...] = ()
    raw_images_allowed: bool | None = None
    problems: tuple[str, ...] = ()


def volume_catalog_type(services):
    """Return what a catalog calls cinder; None: it has none.

    :param services: types in the catalog
    """
    return next((one for one in _VOLUME_CATALOG_TYPES if one in services),
                None)
