/**
 * The script of the pages. It shows the buttons that copy listings, remembers the reader's language for examples, and
 * redirects /docs#create_transfer, a link of earlier versions, to the page of the operation. Each page contains it, and the
 * Content-Security-Policy allows it by its hash. The pages work without it: the buttons stay hidden, and the list of the
 * operations still has the old anchors.
 *
 * Browsers offer the clipboard only over HTTPS and on this machine. Otherwise, the text is copied from a hidden text field.
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
  const languages = [...document.querySelectorAll('input[name="language"]')];
  if (languages.length > 0) {
    try {
      const chosen = languages.find((one) => one.value === localStorage.getItem('language'));
      if (chosen) chosen.checked = true;
    } catch {}
    for (const one of languages) {
      one.addEventListener('change', () => {
        try {
          localStorage.setItem('language', one.value);
        } catch {}
      });
    }
  }
  const moved = [...document.querySelectorAll('.index li')].find((one) => '#' + one.id === location.hash);
  if (moved) location.replace(moved.querySelector('a').href);
})();
`;
