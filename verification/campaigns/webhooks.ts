import { randomBytes } from 'node:crypto';
import type { Resources } from '../../bench/resources.ts';
import { type Findings, pause, type Setting } from '../campaign.ts';
import { Consumers } from '../environments/processes/consumers.ts';
import {
  type Attended,
  type KilledLedger,
  killUnderLoad,
  type Work,
} from '../environments/processes/killed-ledgers.ts';
import { Receiver } from '../environments/processes/receiver.ts';
import { type Endpoint, endpoint, Webhooks } from '../generators/events/webhooks.ts';

const WORK: Work = {
  ...{ clients: 12, callers: 6, killsPerLedger: 10, sentAgain: 50 },
  transfersUntil: (_, made) => made + 100,
};

/** Endpoints of every kind. Failures are rare with strict order, because each stops the webhook for seconds. */
const ENDPOINTS: readonly Endpoint[] = [
  endpoint('all', 'demo'),
  endpoint('strict', 'demo', { order: 'strict', conduct: { kind: 'slow', share: 0.01 } }),
  endpoint('thin', 'demo', { payload: 'thin', conduct: { kind: 'slow', share: 0.2 } }),
  endpoint('filtered', 'demo', { types: ['transfer.*'], conduct: { kind: 'fails', share: 0.03 } }),
  endpoint('dead', 'demo', {
    outages: [
      { from: 0.2, to: 0.4, conduct: { kind: 'black hole' } },
      { from: 0.4, to: 0.6, conduct: { kind: 'closes' } },
    ],
  }),
  endpoint('strict-dead', 'demo', {
    order: 'strict',
    types: ['transfer.pending', 'transfer.canceled'],
    outages: [{ from: 0.3, to: 0.5, conduct: { kind: 'fails' } }],
  }),
  endpoint('rolled', 'other', { isRolled: true, conduct: { kind: 'closes', share: 0.02 } }),
  endpoint('strict-rolled', 'other', { order: 'strict', payload: 'thin', types: ['card.*'], isRolled: true }),
  endpoint('limited', 'other', {
    payload: 'thin',
    types: ['transfer.*', 'switch.changed'],
    conduct: { kind: 'limits', share: 0.02 },
  }),
  endpoint('operators', 'all', { conduct: { kind: 'slow', share: 0.1 } }),
  endpoint('operators-strict', 'all', { order: 'strict', types: ['card.*', 'program.*'] }),
];

/** The share of kills after which the secrets are rolled. */
const ROLLED_AT = 0.5;

/** The probability that the receiver restarts between two kills, and its longest downtime in milliseconds. */
const RESTARTED = 0.3;
const MAX_AWAY = 1_000;

/** Both services need the same key, because both read the webhook secrets. */
const SETTINGS = { ofBoth: { WEBHOOK_KEY: randomBytes(32).toString('base64') } };

async function attend(ledger: KilledLedger, resources: Resources): Promise<Attended> {
  const { tally, services, programs, random } = ledger;
  const receiver = await Receiver.start(ledger.randomOfReceiver);
  resources.add('the receiver', () => receiver.stop());
  const webhooks = await Webhooks.create(ENDPOINTS, programs, receiver, () => services.owner.url);
  const connection = { connectionString: services.databaseUrl };
  const of = { tally, connection: () => connection, programs, readers: [], webhooks };
  const consumers = new Consumers({ ...of, caughtUpWithin: 30_000 });
  let isRolled = false;
  const conduct = async (share: number): Promise<void> => {
    tally.add('enabled', await webhooks.conduct(share));
    if (share < ROLLED_AT || isRolled) return;
    isRolled = true;
    await webhooks.roll();
  };
  return {
    consumers,
    beforeKill: async (share) => {
      await conduct(share);
      if (random() < RESTARTED) await receiver.restart(pause(random() * MAX_AWAY));
    },
    checkEnd: async (where) => {
      await conduct(1);
      await consumers.checkEnd(where, services.urls);
      for (const { name } of webhooks.all.filter((webhook) => webhook.isRolled)) {
        if (receiver.deliveriesOf(name).at(-1)?.verified.length === 2) continue;
        tally.violate(where, [`${name}: the new secret and the old one do not both sign`]);
      }
    },
  };
}

export function run(setting: Setting): Promise<Findings> {
  return killUnderLoad(setting, { work: WORK, settings: () => SETTINGS, attend });
}
