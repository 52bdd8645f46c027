import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ListCardsQuery } from '../../sdk/client.ts';
import { expectBalancedBooks, refusalOf, useService } from '../harness/service.ts';

const running = useService();
const client = () => running().client;
afterAll(() => expectBalancedBooks(running()));

describe('list_cards', () => {
  let programId = '';
  const list = (query: ListCardsQuery = {}) => client().cards.list(query, { programId });
  const namesOf = async (query: ListCardsQuery) => (await list(query)).data.map(({ card_id }) => card_id);

  async function everyPage(query: ListCardsQuery): Promise<readonly string[]> {
    const names: string[] = [];
    for await (const { card_id } of client().cards.listAll(query, { programId })) names.push(card_id);
    return names;
  }

  beforeAll(async () => {
    ({ program_id: programId } = await client().programs.create({ name: 'Lists', currency: 'USD' }));
    const { cards } = client();
    const make = (card_id: string, body: object = {}) => cards.create({ card_id, ...body }, { programId });
    await make('shop-b', { last_four: '4242', holder_reference: 'employee 7' });
    await make('shop-a', { last_four: '4242', metadata: { tier: 'gold', shop: '7' } });
    await make('Shop-c', { last_four: '4711', holder_reference: 'employee 7', metadata: { tier: 'gold', flag: '' } });
    await make('old', { expires_on: '2020-01-31', last_four: '4242' });
    await make('waiting', { status: 'preactive', metadata: { tier: 'silver', shop: '7' } });
    await cards.update('waiting', { metadata: { tier: 'gold', shop: null } }, { programId });
    await make('stale', { status: 'preactive', expires_on: '2020-01-31' });
    await make('missing');
    await cards.update('missing', { status: 'lost' }, { programId });
    await make('shop-~', { holder_reference: "o'neill \\ 100%_" });
  });

  test.each<[ListCardsQuery, string[]]>([
    [{ last_four: '4242' }, ['old', 'shop-a', 'shop-b']],
    [{ last_four: '0000' }, []],
    [{ holder_reference: 'employee 7' }, ['Shop-c', 'shop-b']],
    [{ holder_reference: "o'neill \\ 100%_" }, ['shop-~']],
    [{ holder_reference: 'employee' }, []],
    [{ status: 'expired' }, ['stale', 'old']],
    [{ status: 'preactive' }, ['waiting']],
    [{ status: 'lost' }, ['missing']],
    [{ status: 'closed' }, []],
    [{ status: 'active' }, ['shop-~', 'Shop-c', 'shop-a', 'shop-b']],
    [{ status: 'active', last_four: '4242' }, ['shop-a', 'shop-b']],
    [{ status: 'active', last_four: '4242', holder_reference: 'employee 7' }, ['shop-b']],
    [{ card_id_prefix: 'shop-' }, ['shop-a', 'shop-b', 'shop-~']],
    [{ card_id_prefix: 'shop-~' }, ['shop-~']],
    [{ card_id_prefix: 'shop-a' }, ['shop-a']],
    [{ card_id_prefix: 'sh%' }, []],
    [{ card_id_prefix: 'shop-', last_four: '4242' }, ['shop-a', 'shop-b']],
    [{ card_id_prefix: 's', status: 'expired' }, ['stale']],
    [{ metadata_name: 'tier', metadata_value: 'gold' }, ['waiting', 'Shop-c', 'shop-a']],
    [{ metadata_name: 'tier', metadata_value: 'silver' }, []],
    [{ metadata_name: 'shop', metadata_value: '7' }, ['shop-a']],
    [{ metadata_name: 'flag', metadata_value: '' }, ['Shop-c']],
    [{ metadata_name: 'tier', metadata_value: 'gold', status: 'active' }, ['Shop-c', 'shop-a']],
    [{ metadata_name: 'tier', metadata_value: 'gold', last_four: '4711' }, ['Shop-c']],
    [{ metadata_name: 'tier', metadata_value: 'gold', card_id_prefix: 'shop-' }, ['shop-a']],
  ])('finds exactly the cards with %j', async (query, expected) => {
    // Lists by digits or holder are newest first, even with other filters. Only lists by the start of the id are sorted
    // by id.
    const isByName = query.card_id_prefix !== undefined && query.last_four === undefined;
    const names = await namesOf(query);
    expect(isByName ? names : [...names].sort()).toEqual(isByName ? expected : [...expected].sort());
    expect(await everyPage({ ...query, limit: 1 })).toEqual(names);
  });

  test('sorts by creation time, newest first, if no filter is set', async () => {
    expect(await namesOf({})).toEqual(['shop-~', 'missing', 'stale', 'waiting', 'old', 'Shop-c', 'shop-a', 'shop-b']);
    expect(await everyPage({ limit: 3 })).toEqual(await namesOf({}));
  });

  test('does not find cards of other programs', async () => {
    await client().cards.create({
      card_id: 'shop-z',
      last_four: '4242',
      holder_reference: 'employee 7',
      metadata: { tier: 'gold' },
    });
    expect(await namesOf({ metadata_name: 'tier', metadata_value: 'gold' })).not.toContain('shop-z');
    expect(await namesOf({ card_id_prefix: 'shop-z' })).toEqual([]);
    expect(await namesOf({ last_four: '4242' })).not.toContain('shop-z');
    expect(await namesOf({ holder_reference: 'employee 7' })).not.toContain('shop-z');
  });

  test.each([
    [{ status: 'gone' }, '/status'],
    [{ last_four: '42' }, '/last_four'],
    [{ last_four: 'abcd' }, '/last_four'],
    [{ card_id_prefix: 'a b' }, '/card_id_prefix'],
    [{ holder_reference: 'x'.repeat(256) }, '/holder_reference'],
    [{ metadata_name: 'tier' }, '/metadata_value'],
    [{ metadata_value: 'gold' }, '/metadata_name'],
  ])('refuses %j', async (query, field) => {
    expect(await refusalOf(list(query as ListCardsQuery))).toMatchObject({ Code: 'list_cards_schema', field });
  });

  test('refuses the cursor of a missing card in a list by the start of the id', async () => {
    const first = await list({ card_id_prefix: 'shop-', limit: 1 });
    const cursor = first.next_cursor ?? '';
    expect(await namesOf({ card_id_prefix: 'shop-', cursor })).toEqual(['shop-b', 'shop-~']);
    expect(await namesOf({ card_id_prefix: 'shop-a', cursor })).toEqual([]);
    const unknown = list({ card_id_prefix: 'shop-', cursor: 'card_01900000000070008000000000000001' });
    const refused = await refusalOf(unknown);
    expect(refused).toMatchObject({ Code: 'list_cards_schema', field: '/cursor' });
    expect(refused.Message).toContain("'cursor' must be the next_cursor of the previous page");
    const other = client().cards.list({ card_id_prefix: 'shop-', cursor });
    expect(await refusalOf(other)).toMatchObject({ Code: 'list_cards_schema', field: '/cursor' });
  });

  test('refuses a card number and stores it nowhere', async () => {
    const refused = await refusalOf(list({ card_id_prefix: '4111111111111111' }));
    expect(refused.Code).toBe('card_number_refused');
    expect(refused.Message).not.toContain('4111111111111111');
  });
});

describe('list_holds', () => {
  test('shows the outgoing and incoming holds of a card, with their sums', async () => {
    const { cards, transfers } = client();
    for (const card_id of ['here', 'there']) await cards.create({ card_id });
    await transfers.create({ amount: 5000, card_id: 'here' });
    const hold = (body: object, amount: number) =>
      transfers.create({ amount, card_id: 'here', capture: 'manual', ...body });
    const load = await hold({ reference: 'hold 1' }, 100);
    const unload = await hold({ type: 'unload', description: 'till' }, 200);
    const away = await hold({ type: 'card_to_card', destination_card_id: 'there' }, 300);
    const back = await hold({ type: 'unload' }, 400);
    await transfers.cancel(back.transfer_id);
    const gone = await hold({ type: 'unload' }, 50);
    await transfers.capture(gone.transfer_id);

    const { data, ...rest } = await cards.holds('here');
    const { held, incoming } = await cards.get('here');
    expect(rest).toMatchObject({ next_cursor: null, card_id: 'here', currency: 'USD', held, incoming });
    expect({ held, incoming }).toEqual({ held: 500, incoming: 100 });
    const shown = data.map(({ transfer_id, direction, amount }) => ({ transfer_id, direction, amount }));
    expect(shown).toEqual([
      { transfer_id: away.transfer_id, direction: 'out', amount: 300 },
      { transfer_id: unload.transfer_id, direction: 'out', amount: 200 },
      { transfer_id: load.transfer_id, direction: 'in', amount: 100 },
    ]);
    expect(data[2]).toMatchObject({ reference: 'hold 1', expires_at: load.expires_at, type: 'load' });
    expect((await cards.holds('there')).data).toMatchObject([{ direction: 'in', amount: 300, card_id: 'here' }]);

    const first = await cards.holds('here', { limit: 2 });
    const second = await cards.holds('here', { limit: 2, cursor: first.next_cursor ?? '' });
    expect([...first.data, ...second.data]).toEqual(data);
    expect(second.next_cursor).toBeNull();
  });

  test('refuses a missing card and a cursor from a different list', async () => {
    expect(await refusalOf(client().cards.holds('nobody'))).toMatchObject({ Code: 'card_not_found', Status: 404 });
    const refused = await refusalOf(client().cards.holds('here', { cursor: 'x' }));
    expect(refused).toMatchObject({ Code: 'list_holds_schema', field: '/cursor' });
  });
});
