import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { DEMO_CARDS } from '../../../contract/sandbox/demo-cards.ts';
import { followGuide } from '../guide-trial.ts';

followGuide('sandbox');

test('the guide has every demo card, with the code that refuses it', () => {
  const text = readFileSync(new URL('../../../docs/sandbox.md', import.meta.url), 'utf8');
  const rows = text.split('\n').filter((line) => line.startsWith('| `card_'));
  for (const { name, refuses } of DEMO_CARDS) {
    const row = rows.find((line) => line.split('|')[1]?.includes(`\`${name}\``));
    expect(row, name).toBeDefined();
    if (refuses !== undefined) expect(row, name).toContain(`\`${refuses.code}\``);
  }
});
