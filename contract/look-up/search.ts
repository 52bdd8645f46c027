import { type Static, Type } from 'typebox';
import { operation } from '../operation.ts';
import { DEMO_PROGRAM, EXAMPLE_TIME, EXAMPLE_TRANSFER_ID } from '../samples.ts';
import { idText, literals, moment, nullable, text, textOrNull } from '../schema-parts.ts';

/** The kinds of results, in their order. */
export const FOUND_KINDS = [
  'transfer',
  'card',
  'request',
  'case',
  'incident',
  'reversal',
  'idempotency_key',
  'deposit',
  'withdrawal',
  'event',
  'program',
  'webhook',
  'api_key',
  'person',
  'approval',
  'audit_entry',
  'error_code',
] as const;

/** The fields that can equal or contain the text. */
export const MATCHES = [
  'id',
  'id_prefix',
  'reference',
  'idempotency_key',
  'amount',
  'last_four',
  'holder_reference',
  'processor_token',
  'name',
  'error_code',
] as const;

export const FoundRecord = Type.Object({
  id: Type.String({ description: 'Its id; for an idempotency key or an error code, the text itself' }),
  program_id: textOrNull('The card program; null if it belongs to none'),
  matched: literals(MATCHES, 'The field that equals or contains the text'),
  summary: Type.String({ description: 'Description of the result, in one line' }),
  created_at: nullable(
    moment('When it was created or happened; null for results without a time, such as an error code'),
  ),
});

export const SearchResults = Type.Object({
  data: Type.Array(
    Type.Object({
      kind: literals(FOUND_KINDS, 'What was found'),
      results: Type.Array(FoundRecord, { description: 'Exact matches first, each group newest first' }),
      has_more: Type.Boolean({ description: 'Whether there may be more of this kind than are shown' }),
    }),
    { description: 'The results, by kind; empty if nothing was found' },
  ),
  complete: Type.Boolean({
    description: 'False if there are more card programs than one search covers: send `program_id`',
  }),
});

export const SEARCH = [
  operation({
    id: 'search',
    method: 'GET',
    path: '/api/v0.1/operator/search',
    summary:
      'Find anything in all card programs: by id, reference, idempotency key, card, holder, amount or error code',
    reach: 'operator',
    scope: 'operator:read',
    query: Type.Object({
      q: text(
        255,
        'What to look for: any id (transfers, cards, webhooks and cases only if the key may read them); a reference; an idempotency key; a card id or its beginning; the last four digits of ' +
          'a card; a holder reference or part of it; a processor_token, or its SHA-256 in hex; an amount such as 12.34, $1,234.56 or 12.34 USD, alone or with part of a holder reference ' +
          '(Priya 75); an error code; part of the name of a card program or key',
      ),
      program_id: Type.Optional(idText('prog', 'Only in this card program')),
      created_from: Type.Optional(moment('For an amount or an error code, only results at or after this time')),
      created_to: Type.Optional(moment('For an amount or an error code, only results before this time')),
    }),
    reply: SearchResults,
    failure: 'The search could not be completed',
    example: {
      reply: {
        data: [
          {
            kind: 'transfer',
            results: [
              {
                id: EXAMPLE_TRANSFER_ID,
                program_id: DEMO_PROGRAM,
                matched: 'reference',
                summary: "Load of 10.00 USD to the card 'card_active': completed",
                created_at: EXAMPLE_TIME,
              },
            ],
            has_more: false,
          },
        ],
        complete: true,
      },
    },
  }),
] as const;

export type FoundRecord = Static<typeof FoundRecord>;
export type SearchResults = Static<typeof SearchResults>;
