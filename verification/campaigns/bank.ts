import { onConnection } from '../../test/harness/ledger.ts';
import { embeddedServerOf } from '../../test/harness/process.ts';
import { keptConnections, sendRaw } from '../../test/harness/raw-request.ts';
import { type Findings, type Setting, streamOf, Tally } from '../campaign.ts';
import { readBooks } from '../checkers/books.ts';
import { startTwoServices, type TwoServices } from '../environments/processes/services.ts';
import { wrongSums } from '../environments/processes/snapshots.ts';

const CLIENTS = 16;
const READERS = 3;
const CARDS = Array.from({ length: 12 }, (_, index) => `bank-card-${index}`);

/** The initial balance of each card, in minor units. */
const OPENING = 10_000;

/** The number of snapshots per call. Each statement of the block has its own snapshot. */
const READS_OF_CALL = 500;

/** The sum of the cards' balances must never change. */
const CARDS_SUM = `(
    select case when sum(balance) <> ${OPENING * CARDS.length} then 'the cards have ' || sum(balance) end
    from card join account using (program_id, account_id) where name like 'bank-card-%'
  )`;

const READ_SNAPSHOTS = `do $$
  declare
    seen text;
  begin
    for look in 1..${READS_OF_CALL} loop
      select wrong into seen from (${wrongSums(CARDS_SUM)}) as look;
      if seen <> '' then
        raise exception '%', seen;
      end if;
    end loop;
  end $$`;

/** Moves money between random cards while `goesOn` is true. On average, every fifth transfer is a hold first. */
async function move(services: TwoServices, random: () => number, tally: Tally, goesOn: () => boolean): Promise<void> {
  const agent = keptConnections(1);
  const card = (): string => CARDS[Math.floor(random() * CARDS.length)] ?? '';
  for (let turn = 0; goesOn(); turn += 1) {
    const url = services.both[turn % 2]?.url ?? '';
    const [card_id, destination_card_id] = [card(), card()];
    if (card_id === destination_card_id) continue;
    const amount = 1 + Math.floor(random() * 6_000);
    const capture = random() < 0.2 ? 'manual' : 'automatic';
    const body = { type: 'card_to_card', amount, card_id, destination_card_id, capture };
    const made = await sendRaw(url, { body }, agent);
    tally.add(made.status === 201 ? 'transfers' : `refused_${made.fields.Code}`);
    if (made.status === 201 && capture === 'manual') {
      const verb = random() < 0.5 ? 'capture' : 'cancel';
      const path = `/api/v0.1/core/transfer/${made.fields.transfer_id}/${verb}`;
      const ended = await sendRaw(url, { path, ...(verb === 'capture' ? { body: {} } : {}) }, agent);
      tally.add(ended.status === 200 ? verb : `refused_${ended.fields.Code}`);
    }
  }
  agent.destroy();
}

function watch(connectionString: string, tally: Tally, setting: Setting): Promise<void> {
  return onConnection({ connectionString }, async (client) => {
    const isOver = () => tally.count('reads') >= setting.count && tally.count('transfers') >= CLIENTS;
    while (!isOver() && !tally.isFull) {
      tally.add('reads', READS_OF_CALL);
      await client.query(READ_SNAPSHOTS).catch((error: unknown) => tally.violate('snapshot', [String(error)]));
      setting.progress(tally.count('reads'), `${tally.count('transfers')} transfers`);
    }
  });
}

export async function run(setting: Setting): Promise<Findings> {
  const tally = new Tally();
  const services = await startTwoServices(setting.resources);
  try {
    for (const card_id of CARDS) {
      await services.both[0].client.cards.create({ card_id });
      await services.both[0].client.transfers.create({ card_id, amount: OPENING });
    }
    let isOver = false;
    const movers = Array.from({ length: CLIENTS }, (_, client) =>
      move(services, streamOf(setting.seed, client), tally, () => !isOver),
    );
    const { databaseUrl } = await embeddedServerOf(services.path);
    await Promise.all(Array.from({ length: READERS }, () => watch(databaseUrl, tally, setting)));
    isOver = true;
    await Promise.all(movers);
    const { faults } = await readBooks(services.path, CARDS);
    for (const [what, count] of Object.entries(faults)) tally.violate('books', [`${what}: ${count}`]);
  } finally {
    await services.end();
  }
  return tally.findings({ clients: CLIENTS, readers: READERS, processes: 2 });
}
