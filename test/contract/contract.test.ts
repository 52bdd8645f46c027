import { afterAll, expect, test } from 'vitest';
import { operatorKey, programKey, withSecret } from '../harness/keys.ts';
import { expectBalancedBooks, useService } from '../harness/service.ts';
import { type Document, readDocument } from './document.ts';
import { type Credential, runGenerated, shrink, type Target } from './sequence.ts';

// Whatever /openapi.json allows, in whatever order, the service does as the document says. The status is listed and no fault, the
// body and the headers have the documented form, a Location leads to what was created, lists and their filters find it, the same
// key gets the same response, and no response has anything of another card program. What fails is printed as curl commands.

const running = useService();
let document: Document | undefined;
afterAll(() => expectBalancedBooks(running()));

const SEED = Number(process.env.CONTRACT_SEED ?? 20_261_128);
const SECONDS = Number(process.env.CONTRACT_SECONDS ?? 30);
const LENGTH = 40;
/** On a slow machine too, so that the share of what is refused rests on a thousand requests. */
const MIN_SEQUENCES = 25;

/**
 * At most so many of the requests that the document allows may be refused because of their schema. It was 0.18 and is 0.08; the aim is 0.03. What
 * is left are filters by metadata, which need two parameters, and names of operations and codes that are no enumerations yet.
 */
const MAX_REFUSED_SHARE = 0.12;

/** A program with money and two cards, keys for it, and beside it a program whose texts it must never show. */
async function newTarget(): Promise<Target> {
  const { client, url } = running();
  document ??= await readDocument(url);
  const { program_id: programId } = await client.programs.create({ name: 'Contract', currency: 'USD' });
  await client.deposits.create(programId, { amount: 1_000_000 });
  const other = await client.programs.create({ name: `Other ${programId.slice(-12)}`, currency: 'USD' });
  const foreignCard = `foreign-${other.program_id.slice(-12)}`;
  await client.cards.create({ card_id: foreignCard, holder_reference: foreignCard }, { programId: other.program_id });
  for (const card_id of ['first', 'second']) {
    await client.cards.create({ card_id }, { programId });
    await client.transfers.create({ amount: 5000, card_id }, { programId });
  }
  const keyOf = async (made: Parameters<typeof client.keys.create>[0]) =>
    (await withSecret(client.keys.create(made))).key;
  const keys: Partial<Record<Credential, string>> = {
    program: await keyOf(programKey('contract', programId)),
    viewer: await keyOf({ name: 'viewer', program_id: programId, role: 'viewer' }),
    operator: await keyOf(operatorKey('contract')),
  };
  return { url, document, programId, keys, foreign: [foreignCard, other.program_id] };
}

test(
  `${SECONDS} s of requests that the document allows, from seed ${SEED}`,
  async () => {
    const refused = new Map<string, number>();
    let requests = 0;
    let generated = 0;
    const end = performance.now() + SECONDS * 1000;
    for (let sequence = 0; sequence < MIN_SEQUENCES || performance.now() < end; sequence += 1) {
      const { outcome, steps } = await runGenerated(await newTarget(), [SEED, sequence], LENGTH);
      requests += outcome.requests;
      generated += outcome.steps;
      for (const [kind, count] of outcome.refused) refused.set(kind, (refused.get(kind) ?? 0) + count);
      if (outcome.violation === undefined) continue;
      const shortest = (await shrink(newTarget, steps, outcome.violation)) ?? outcome;
      const { operation, problem } = shortest.violation ?? outcome.violation;
      expect.fail(
        `sequence ${sequence} of seed ${SEED}: ${operation} has ${problem}\n\n${shortest.commands.join('\n')}\n`,
      );
    }
    const kinds = [...refused].sort(([, left], [, right]) => right - left);
    const share = kinds.reduce((sum, [, count]) => sum + count, 0) / generated;
    const most = kinds.slice(0, 40).map(([kind, count]) => `${count} ${kind}`);
    console.log(
      `${requests} requests, ${generated} of them generated from seed ${SEED}, ${(share * 100).toFixed(1)} % refused by their schema\n${most.join('\n')}`,
    );
    expect(share).toBeLessThanOrEqual(MAX_REFUSED_SHARE);
  },
  (SECONDS + 300) * 1000,
);
