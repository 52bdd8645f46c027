/**
 * The script of the pages: the buttons that copy listings, and the filter of the API reference. Each page contains it, and
 * the Content-Security-Policy allows it by its hash. Nothing depends on it: the buttons are hidden without it, and the
 * filter is a form.
 *
 * Browsers offer the clipboard only over HTTPS and on this machine; elsewhere a text field that is copied does the same.
 */
export const SCRIPT = `
(() => {
  const said = document.getElementById('said');
  const copy = async (text) => {
    try {
      await navigator.clipboard.writeText(text);
      return true;
    } catch {
      const area = document.createElement('textarea');
      area.className = 'unseen';
      area.value = text;
      document.body.append(area);
      area.select();
      const done = document.execCommand('copy');
      area.remove();
      return done;
    }
  };
  for (const button of document.querySelectorAll('button.copy')) {
    button.hidden = false;
    let waiting;
    button.addEventListener('click', async () => {
      const text = button.dataset.copy ?? button.closest('figure').querySelector('code').textContent;
      const done = await copy(text);
      button.focus();
      clearTimeout(waiting);
      button.textContent = done ? 'Copied' : 'Not copied';
      said.textContent = done ? 'Copied' : 'The browser did not allow it. Select the text and copy it.';
      waiting = setTimeout(() => {
        button.textContent = 'Copy';
        said.textContent = '';
      }, 2000);
    });
  }
  const filter = document.querySelector('form[data-filter]');
  if (filter) {
    const rows = [...document.querySelectorAll('[data-find]')];
    const show = (selector, isShown) => {
      for (const one of document.querySelectorAll(selector)) one.hidden = !isShown(one);
    };
    const apply = () => {
      const words = filter.elements.q.value.toLowerCase().split(/\\s+/).filter(Boolean);
      const found = new Set(
        rows.filter((row) => words.every((word) => row.dataset.find.includes(' ' + word))).map((row) => row.dataset.of),
      );
      show('[data-of]', (one) => found.has(one.dataset.of));
      show('[data-group]', (group) => group.querySelector('[data-of]:not([hidden])') !== null);
      show('[data-unfiltered]', () => words.length === 0);
      said.textContent = words.length === 0 ? '' : found.size + ' of ' + rows.length + ' operations match';
    };
    filter.addEventListener('input', apply);
    filter.addEventListener('submit', (event) => {
      event.preventDefault();
      apply();
      const first = document.querySelector('.operation:not([hidden])');
      if (first) location.hash = first.dataset.of;
    });
    if (filter.elements.q.value !== '') apply();
  }
  if (!CSS.supports('selector(:target-current)')) {
    const links = new Map([...document.querySelectorAll('.menu a')].map((link) => [link.hash.slice(1), link]));
    const seen = new IntersectionObserver(
      (entries) => {
        const entered = entries.find((entry) => entry.isIntersecting);
        if (!entered) return;
        for (const link of links.values()) link.removeAttribute('aria-current');
        links.get(entered.target.id)?.setAttribute('aria-current', 'true');
      },
      { rootMargin: '0px 0px -70% 0px' },
    );
    for (const id of links.keys()) {
      const target = document.getElementById(id);
      if (target) seen.observe(target);
    }
  }
})();
`;
