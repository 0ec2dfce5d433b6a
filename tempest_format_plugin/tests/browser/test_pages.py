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

"""The HTML pages in a headless Chromium: "tox -e browser"."""

import contextlib
import io
import os
import pathlib
import shutil
import tempfile
import urllib.parse

from axe_playwright_python import base as axe_base
import fixtures
from playwright import sync_api
import testtools

from tempest_format_plugin.audit import journal as journals
from tempest_format_plugin.audit import render as audit_render
from tempest_format_plugin.certification import render
from tempest_format_plugin.formats import agreement
from tempest_format_plugin import report
from tempest_format_plugin import results
from tempest_format_plugin.tests.unit.certification import made
from tempest_format_plugin.tests.unit.formats import observed

DESKTOP = {'width': 1000, 'height': 900}
WIDE = {'width': 1400, 'height': 900}
PHONE = {'width': 360, 'height': 740}
FOCUSABLE = '.scroll, pre[tabindex], summary, a, button, input, select'
# Each is given a number by which it can be told that it had the focus.
_NUMBER = '''selector => {
    const found = [...document.querySelectorAll(selector)]
        .filter(one => one.checkVisibility());
    found.forEach((one, number) => { one.dataset.number = number; });
    return found.length;
}'''
_OPEN_ALL = '''() => {
    for (const one of document.querySelectorAll('details')) one.open = true;
}'''


def chromium():
    """Return the path of a Chromium.

    :raises LookupError: there is none
    """
    for name in ('chromium', 'chromium-browser', 'google-chrome'):
        if found := shutil.which(name):
            return found
    raise LookupError('no Chromium in PATH: Debian has it as "chromium"')


def incomplete():
    """Return a Certificate with everything that may be on its page."""
    return made.certificate_of(
        *made.verdicts(),
        made.verdict(results.SKIPPED, 'a.TestSome.test_skipped',
                     reason='too few hosts'),
        made.verdict(results.DISAGREES, 'a.TestSome.test_disagreeing',
                     reason='live XML says raw, file says ' + 'qcow2' * 60,
                     tables={'1-moment': '| ' + 'x' * 300 + ' |'}),
        made.verdict(results.NOT_RUN, 'a.TestSome.test_not_run'),
        left=('volume 1 (tempest-x)',), unlisted=('port: no answer',),
        told=('it was stopped',),
        facts=made.facts.CloudFacts(
            hosts=(*made.HOSTS, made.facts.HostFacts(
                'compute-5', 'a', problems=('no answer',))),
            pools=made.FACTS.pools, problems=('no answer of glance',)))


def audit_page():
    output = io.StringIO()
    with (tempfile.TemporaryDirectory() as directory,
          journals.opened(os.path.join(directory, 'journal')) as journal):
        journal.begin([], 'noon', [
            (f'server-{number}', 'compute-1', 'project', [])
            for number in range(4)])
        journal.keep('server-0', ())
        journal.keep('server-1', agreement.judge(
            observed.server(observed.disk(file='qcow2'))))
        journal.keep_unknown('server-2', 'no answer')
        audit_render.html(journal, output)
    return output.getvalue()


def lab_page():
    return report.page('Disk formats of the lab', [report.Run(
        'current', {'releases': 'nova of 2026.2'}, made.verdicts(), 450.0,
        0.03, ['compute-1: a file'], made.STARTED)], rows=[
            ('LP 2038898', {'current': (results.REPRODUCED,
                                        results.AGREES)})])


PAGES = {
    'certificate': lambda: render.page(made.certificate_of()),
    'incomplete': lambda: render.page(incomplete()),
    'audit': audit_page,
    'lab': lab_page,
}


class BrowserTest(testtools.TestCase):

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        with contextlib.ExitStack() as stack:
            playwright = stack.enter_context(sync_api.sync_playwright())
            cls.browser = playwright.chromium.launch(
                executable_path=chromium(),
                # Chromium as root has none.
                chromium_sandbox=os.geteuid() != 0)
            stack.callback(cls.browser.close)
            cls.stack = stack.pop_all()

    @classmethod
    def tearDownClass(cls):
        cls.stack.close()
        super().tearDownClass()

    def setUp(self):
        super().setUp()
        self.directory = pathlib.Path(
            self.useFixture(fixtures.TempDir()).path)

    def open(self, name, **options):
        """Return a page of PAGES as the browser shows it.

        What goes wrong in it, and what it asks for, fails the test.
        """
        path = self.directory / f'{name}.html'
        path.write_text(PAGES[name](), encoding='utf-8')
        context = self.browser.new_context(
            **{'viewport': DESKTOP, 'color_scheme': 'light'} | options)
        self.addCleanup(context.close)
        page = context.new_page()
        wrong = []
        page.on('console', lambda message: wrong.append(message.text))
        page.on('pageerror', lambda error: wrong.append(str(error)))
        page.on('request', lambda request: wrong.append(request.url)
                if request.url != path.as_uri() else None)
        self.addCleanup(lambda: self.assertEqual([], wrong))
        page.goto(path.as_uri())
        return page

    def each(self, **options):
        for name in PAGES:
            page = self.open(name, **options)
            page.evaluate(_OPEN_ALL)
            yield name, page


class EachPageTest(BrowserTest):
    """What holds for each page."""

    def test_opens_without_errors_and_asks_for_nothing(self):
        for name, page in self.each():
            self.assertEqual(1, page.locator('h1').count(), name)

    def test_all_is_reached_by_the_keyboard(self):
        for name, page in self.each():
            number = page.evaluate(_NUMBER, FOCUSABLE)
            self.assertTrue(number, name)
            reached = set()
            for _ in range(number + 5):
                page.keyboard.press('Tab')
                reached.add(page.evaluate(
                    'document.activeElement.dataset.number'))
            self.assertEqual(
                set(), {str(one) for one in range(number)} - reached, name)

    def test_tables_are_in_regions_with_a_name(self):
        for name, page in self.each():
            self.assertEqual(
                page.locator('table').count(),
                page.locator('[role=region][aria-label][tabindex="0"] table'
                             ).count(), name)

    def test_contrast_and_names(self):
        for scheme in ('light', 'dark'):
            # Wide: of what is scrolled out of sight nothing can be told.
            for name, page in self.each(color_scheme=scheme, viewport=WIDE):
                self.check_accessible(page, f'{name}, {scheme}')

    def check_accessible(self, page, name):
        page.evaluate(axe_base.AXE_SCRIPT)
        found = page.evaluate('axe.run()')
        self.assertEqual([], [
            (one['id'], node['html'][:200], node['failureSummary'])
            for one in found['violations'] for node in one['nodes']], name)
        # Contrast that could not be told would be no violation.
        self.assertEqual([], [
            node['html'][:200] for one in found['incomplete']
            if one['id'] == 'color-contrast' for node in one['nodes']], name)

    def test_phone(self):
        for name, page in self.each(viewport=PHONE):
            self.assertEqual(PHONE['width'], page.evaluate(
                'document.documentElement.scrollWidth'), name)

    def test_print(self):
        for name in PAGES:
            page = self.open(name)
            page.evaluate("""() => {
                for (const one of document.querySelectorAll('details'))
                    one.open = false;
            }""")
            page.emulate_media(media='print')
            self.assertEqual([], page.evaluate("""() =>
                [...document.querySelectorAll('table, pre, li, p, dd')]
                    .filter(one => !one.closest('form')
                        && !one.checkVisibility())
                    .map(one => one.outerHTML.slice(0, 200))"""), name)
            # What scrolls on a screen would be cut off on paper.
            self.assertEqual([], page.evaluate("""() =>
                [...document.querySelectorAll('.scroll, pre')]
                    .filter(one =>
                        getComputedStyle(one).overflowX !== 'visible')
                    .map(one => one.outerHTML.slice(0, 200))"""), name)


class CertificateTest(BrowserTest):

    def shown(self, page):
        """Return the tests and the rows that are shown, by their names."""
        texts = [[text.split('.')[-1].split(':')[0].strip() for text in
                  page.locator(f'{tag}:visible').all_inner_texts()]
                 for tag in ('details[data-verdict] > summary',
                             'tr[data-verdict] a')]
        self.assertEqual(*texts)
        return texts[0]

    def test_filters(self):
        page = self.open('incomplete')
        every = self.shown(page)
        self.assertEqual(8, len(every))
        said = page.get_by_role('status')
        self.assertEqual('8 of 8 tests shown', said.inner_text())
        page.get_by_label('Verdict').select_option('reproduced')
        self.assertEqual(3, len(self.shown(page)))
        self.assertEqual('3 of 8 tests shown', said.inner_text())
        page.get_by_label('Words').fill('1989514 NFS')
        self.assertEqual(['test_snapshot_of_stopped_server'],
                         self.shown(page))
        page.get_by_role('button', name='Show all').click()
        page.get_by_text('8 of 8 tests shown').wait_for()
        self.assertEqual(every, self.shown(page))
        page.get_by_label('only what is not expected').check()
        self.assertEqual(
            ['test_skipped', 'test_disagreeing', 'test_not_run'],
            self.shown(page))

    def test_filters_by_the_keyboard(self):
        page = self.open('incomplete')
        page.get_by_label('Verdict').focus()
        page.keyboard.press('Tab')
        page.keyboard.type('skipped')
        page.keyboard.press('Enter')
        self.assertEqual(['test_skipped'], self.shown(page))
        page.keyboard.press('Tab')
        page.keyboard.press('Space')
        page.get_by_text('1 of 8 tests shown').wait_for()

    def test_what_is_filtered_is_printed(self):
        page = self.open('incomplete')
        page.get_by_label('Words').fill('not-in-any-test')
        self.assertEqual([], self.shown(page))
        page.emulate_media(media='print')
        self.assertEqual(8, len(self.shown(page)))
        self.assertFalse(page.locator('form').is_visible())

    def test_open_and_close_all(self):
        page = self.open('certificate')
        page.get_by_role('button', name='Open all').click()
        self.assertEqual(0, page.locator('details:not([open])').count())
        page.get_by_role('button', name='Close all').click()
        self.assertEqual(0, page.locator('details[open]').count())

    def test_without_script(self):
        page = self.open('incomplete', java_script_enabled=False)
        self.assertEqual(8, len(self.shown(page)))
        self.assertFalse(page.locator('form').is_visible())
        self.assertTrue(page.locator(
            'details[open] > .scroll > table.beliefs').first.is_visible())

    def test_script_of_somebody_else_does_not_run(self):
        path = self.directory / 'certificate.html'
        path.write_text(PAGES['certificate']().replace(
            '</main>', '</main><script>document.title = "run"</script>'),
            encoding='utf-8')
        context = self.browser.new_context()
        self.addCleanup(context.close)
        page = context.new_page()
        page.goto(path.as_uri())
        self.assertEqual('Disk format certificate', page.title())
        self.assertTrue(page.locator('form').is_visible())

    def test_link_to_a_test_opens_it(self):
        page = self.open('certificate')
        page.get_by_role('button', name='Close all').click()
        link = page.locator('tr[data-verdict] a').nth(1)
        link.click()
        target = urllib.parse.urlsplit(page.url).fragment
        page.locator(f'#{target}').wait_for(state='visible')

    def test_screenshots(self):
        """Not compared with anything: they are for people to look at."""
        directory = pathlib.Path(os.environ.get(
            'FORMAT_SCREENSHOT_DIR', self.directory))
        directory.mkdir(parents=True, exist_ok=True)
        for name, options in (
                ('certificate', {'viewport': {'width': 900, 'height': 640}}),
                ('certificate-dark', {'color_scheme': 'dark'}),
                ('certificate-phone', {'viewport': PHONE})):
            page = self.open('certificate', **options)
            page.evaluate("document.querySelector('details[open] > h4')"
                          ".scrollIntoView()")
            path = directory / f'{name}.png'
            page.screenshot(path=path)
            self.assertTrue(path.stat().st_size > 10_000, name)
