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

"""Certificates for the TLS that Zuul insists on between it and ZooKeeper."""

from cryptography.hazmat.primitives import serialization
import fixtures
import trustme

from tempest_format_plugin.tests.zuul_services import paths


class Certificates(fixtures.Fixture):
    """An authority, and one certificate for both ends at 127.0.0.1.

    :ivar ca: path of the authority's certificate
    :ivar certificate: path of the certificate
    :ivar key: path of its private key
    :ivar both: path of a file with key and certificate
    """

    def _setUp(self):
        directory = self.useFixture(paths.Directory()).path
        self.ca = directory / 'ca.pem'
        self.certificate = directory / 'certificate.pem'
        self.key = directory / 'key.pem'
        self.both = directory / 'both.pem'
        authority = trustme.CA()
        issued = authority.issue_cert('127.0.0.1', 'localhost')
        # ZooKeeper reads no key but PKCS #8, and trustme writes another.
        key = serialization.load_pem_private_key(
            issued.private_key_pem.bytes(), None).private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption())
        certificate = issued.cert_chain_pems[0].bytes()
        authority.cert_pem.write_to_path(self.ca)
        self.certificate.write_bytes(certificate)
        self.key.write_bytes(key)
        self.both.write_bytes(key + certificate)
