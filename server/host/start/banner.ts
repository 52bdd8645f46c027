import { DEMO_CARDS } from '../../../contract/sandbox/demo-cards.ts';
import type { Configuration } from '../../foundation/configuration/configuration.ts';

export function bannerOf(
  configuration: Configuration,
  ledgerDirectory: string | undefined,
  { port, metricsUrl }: { readonly port: number; readonly metricsUrl: string | undefined },
): string {
  const host = configuration.loopbackOnly ? 'localhost' : (configuration.hosts[0] ?? 'localhost');
  const base = `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
  // For links, people need the address that others use.
  const site = configuration.publicUrl ?? base;
  const key = configuration.loopbackOnly ? '' : '-H "Authorization: Bearer <key>" -H "Program-Id: <program_id>" ';
  const lines = ['', `  Ready at ${base}`];
  if (ledgerDirectory !== undefined) lines.push(`  Ledger: ${ledgerDirectory}`);
  if (metricsUrl !== undefined) lines.push(`  Metrics: ${metricsUrl}`);
  if (configuration.mode === 'sandbox') {
    lines.push(
      '',
      '  Cards of the demo program:',
      ...DEMO_CARDS.map(({ name, purpose }) => `    ${name.padEnd(16)} ${purpose}`),
      '',
      '  Load 10.00 USD onto a card:',
      `    curl ${base}/api/v0.1/core/transfer ${key}-d '{"amount": 1000, "card_id": "card_active"}'`,
    );
  }
  lines.push(
    '',
    `  Guides:        ${site}/guides`,
    `  API reference: ${site}/docs`,
    `  Error codes:   ${site}/errors`,
    `  Console:       ${site}/console`,
    '',
    '  Stop with Ctrl-C.',
    '',
  );
  return lines.join('\n');
}
