import { readBooks } from '../../crashes/books.ts';
import { findContradictions, isDone } from '../../crashes/checker.ts';
import type { CreateHistory, ReceivedResponse, Terms } from '../../crashes/history.ts';
import { toReceived } from '../../crashes/load.ts';
import { keptConnections, NoResponse, sendRaw } from '../../harness/raw-request.ts';
import { type Findings, type Row, type Setting, streamOf, Tally } from '../row.ts';
import { startTwoServices } from '../two-services.ts';

/** Sends of one key at the same instant, half of them to each process. */
const AT_ONCE = 50;

/** Keys that are sent at the same time. */
const BESIDE = 4;

const CARDS = ['key-card-0', 'key-card-1', 'key-card-2', 'key-card-3'];

/** Loads, and sometimes an unload above the balance: a refusal must also be the same for all. */
function termsOf(random: () => number): Terms {
  const cardId = CARDS[Math.floor(random() * CARDS.length)] ?? '';
  const amount = 1 + Math.floor(random() * 100);
  if (random() < 0.2) {
    return { type: 'unload', amount: amount + 1_000_000_000, cardId, destinationCardId: null, capture: 'automatic' };
  }
  return { type: 'load', amount, cardId, destinationCardId: null, capture: 'automatic' };
}

async function run(setting: Setting): Promise<Findings> {
  const tally = new Tally();
  const services = await startTwoServices(setting.resources);
  const random = streamOf(setting.seed);
  const agent = keptConnections(AT_ONCE * BESIDE);
  const stories: CreateHistory[] = [];
  try {
    for (const card_id of CARDS) await services.both[0].client.cards.create({ card_id });
    const send = async (): Promise<void> => {
      while (stories.length < setting.count) {
        const story = {
          key: `key-${stories.length}`,
          terms: termsOf(random),
          responses: [] as ReceivedResponse[],
          silences: 0,
        };
        stories.push(story);
        await sendTogether(
          services.both.map(({ url }) => url),
          story,
          agent,
        );
        setting.progress(stories.length);
      }
    };
    await Promise.all(Array.from({ length: BESIDE }, send));
    const { faults, ...books } = await readBooks(services.path, CARDS);
    tally.violate(
      'books',
      Object.entries(faults).map(([what, count]) => `${what}: ${count}`),
    );
    tally.violate('keys', [...findContradictions(stories, books), ...stories.flatMap(wrongCounts)]);
    tally.add('keys', stories.length);
    tally.add(
      'requests',
      stories.reduce((sum, { responses, silences }) => sum + responses.length + silences, 0),
    );
    tally.add('transfers', books.transfers.length);
    tally.add('refused_keys', stories.filter(({ responses }) => responses[0]?.status === 409).length);
  } finally {
    agent.destroy();
    await services.end();
  }
  return { figures: { sends_of_a_key: AT_ONCE, processes: 2, ...tally.figures() }, violations: tally.violations };
}

async function sendTogether(
  urls: readonly string[],
  story: CreateHistory & { responses: ReceivedResponse[]; silences: number },
  agent: ReturnType<typeof keptConnections>,
): Promise<void> {
  const { amount, cardId, type } = story.terms;
  const body = { amount, card_id: cardId, type, metadata: { key: story.key } };
  const send = async (_: unknown, index: number): Promise<void> => {
    try {
      const raw = { headers: { 'Idempotency-Key': story.key }, body };
      story.responses.push(toReceived(await sendRaw(urls[index % urls.length] ?? '', raw, agent)));
    } catch (error) {
      if (!(error instanceof NoResponse)) throw error;
      story.silences += 1;
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, send));
}

/** There are no faults here, so every request gets a response, and exactly one is not a replay. */
function wrongCounts({ key, responses, silences }: CreateHistory): readonly string[] {
  const first = responses.filter(({ replayed }) => !replayed).length;
  const isWhole = silences === 0 && responses.every((response) => isDone(response) || response.status === 409);
  if (isWhole && first === 1) return [];
  const statuses = [...new Set(responses.map(({ status }) => status))].join(', ');
  return [`${key}: ${first} first responses, ${silences} silences, statuses ${statuses}`];
}

/** One key sent many times at the same instant, over two processes. */
export const KEYS: Row = { name: 'keys', unit: 'keys', counts: { small: 100, middle: 300, large: 1000 }, run };
