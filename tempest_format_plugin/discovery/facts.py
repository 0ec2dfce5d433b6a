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


@dataclasses.dataclass(frozen=True)
class HostFacts:
    """A compute host, as nova lists it and as it says itself.

    What couldn't be found out is None, and problems says why.

    :ivar host: its name in nova
    :ivar address: where SSH reaches it
    :ivar deployment: the name of the deployment profile
    :ivar images_type: effective [libvirt] images_type: never 'default'
    :ivar instances_path: on the host, or in the container of the profile
    :ivar nova, libvirt, qemu: versions
    :ivar problems: what couldn't be found out and why, a line each
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
    problems: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class PoolFacts:
    """A pool of cinder's volumes.

    :ivar name: host@backend#pool
    :ivar storage_protocol: as cinder reports it: nfs, ceph, iSCSI, ...
    :ivar vendor, driver_version: None where the driver doesn't tell
    """

    name: str
    storage_protocol: str
    vendor: str | None = None
    driver_version: str | None = None


@dataclasses.dataclass(frozen=True)
class CloudFacts:
    """A cloud.

    :ivar microversions: {service type: highest microversion of its API}
    :ivar problems: as of HostFacts, about the cloud as a whole
    """

    hosts: tuple[HostFacts, ...] = ()
    pools: tuple[PoolFacts, ...] = ()
    microversions: dict = dataclasses.field(default_factory=dict)
    problems: tuple[str, ...] = ()
