// Calls a sandbox through each generated client: node try-clients.js <url of the sandbox>
import { heyApiUrl, tryHeyApi } from './try-hey-api';
import { tryOpenapiTypescript } from './try-openapi-typescript';
import { tryOrval } from './try-orval';

declare const process: { readonly argv: readonly string[] };

const url = process.argv[2] ?? '';
if (heyApiUrl() !== url) throw new Error(`the client of hey-api calls ${heyApiUrl()} instead of ${url}`);
for (const [generator, attempt] of [
  ['openapi-typescript', () => tryOpenapiTypescript(url)],
  ['@hey-api/openapi-ts', tryHeyApi],
  ['orval', tryOrval],
] as const) {
  const [transferId, code] = await attempt();
  if (!/^tr_[0-9a-f]{32}$/.test(transferId) || code !== 'card_closed') {
    throw new Error(`${generator}: the transfer is '${transferId}' and the code '${code}'`);
  }
  console.log(`${generator}: ${transferId}, and ${code} from a closed card`);
}
