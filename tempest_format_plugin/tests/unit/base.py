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

"""What the unit tests share."""

import pathlib
import types

import fixtures
from oslo_config import cfg
from oslo_config import fixture as config_fixture
from tempest import config
import testtools

from tempest_format_plugin import plugin

_SAMPLES = pathlib.Path(__file__).parent / 'samples'


class TestCase(testtools.TestCase):
    """Base of the unit tests."""

    def sample(self, name):
        """Return the text of a recorded sample, its line ends kept."""
        return (_SAMPLES / name).read_bytes().decode()


# Those of tempest's options that the plugin goes by.
_TEMPEST_GROUPS = (
    (config.auth_group, config.AuthGroup),
    (config.identity_group, config.IdentityGroup),
    (config.compute_group, config.ComputeGroup),
    (config.compute_features_group, config.ComputeFeaturesGroup),
    (config.image_feature_group, config.ImageFeaturesGroup),
    (config.placement_group, config.PlacementGroup),
    (config.service_available_group, config.ServiceAvailableGroup),
    (config.volume_group, config.VolumeGroup),
    (config.volume_feature_group, config.VolumeFeaturesGroup))


class PluginConf(config_fixture.Config):
    """The options at their defaults, in place of tempest's CONF.

    tempest's own would read the tempest.conf of whoever runs the tests. Of
    its options, those that the plugin goes by are here.

    :param modules: where CONF is replaced
    """

    def __init__(self, *modules):
        conf = cfg.ConfigOpts()
        for group, options in _TEMPEST_GROUPS:
            config.register_opt_group(conf, group, options)
        plugin.FormatTempestPlugin().register_opts(conf)
        super().__init__(conf)
        self._modules = modules

    def setUp(self):
        super().setUp()
        self.conf([], default_config_files=[])
        # tempest's has its groups as attributes only, with _ for -.
        names = ['disk_format', *(group.name for group, _ in _TEMPEST_GROUPS)]
        conf = types.SimpleNamespace(**{
            name.replace('-', '_'): self.conf[name] for name in names})
        for module in self._modules:
            self.useFixture(fixtures.MockPatchObject(module, 'CONF', conf))

    def set(self, **options):
        """Override options of [disk_format]."""
        self.config(group='disk_format', **options)
