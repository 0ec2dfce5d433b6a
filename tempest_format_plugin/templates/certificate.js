'use strict';
(() => {
  const form = document.getElementById('filters');
  const tests = [...document.querySelectorAll('details[data-verdict]')];
  const rows = [...document.querySelectorAll('tr[data-verdict]')];
  const texts = tests.map((test) => test.textContent.toLowerCase());
  const apply = () => {
    const words = form.elements.words.value.toLowerCase().split(/\s+/);
    const verdict = form.elements.verdict.value;
    const unexpectedOnly = form.elements.unexpected.checked;
    let shown = 0;
    tests.forEach((test, index) => {
      const fits = (!verdict || test.dataset.verdict === verdict)
        && !(unexpectedOnly && test.dataset.expected === 'yes')
        && words.every((word) => texts[index].includes(word));
      // The row of a test has the same number.
      for (const item of [test, rows[index]])
        item.classList.toggle('filtered', !fits);
      shown += fits;
    });
    document.getElementById('shown').textContent =
      `${shown} of ${tests.length} tests shown`;
  };
  form.addEventListener('input', apply);
  form.addEventListener('submit', (event) => event.preventDefault());
  form.addEventListener('reset', () => setTimeout(apply));
  document.getElementById('open-all').addEventListener('click', () => {
    for (const one of document.querySelectorAll('details')) one.open = true;
  });
  document.getElementById('close-all').addEventListener('click', () => {
    for (const one of document.querySelectorAll('details')) one.open = false;
  });
  form.hidden = false;
  apply();
})();
