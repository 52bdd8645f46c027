import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { ERROR_CODES, ERRORS, familyOf, isErrorCode } from '../../contract/errors/catalogue.ts';
import { SIGN_IN_ERRORS } from '../../contract/errors/sign-in.ts';
import { type ErrorCode, OPERATION_IDS, precedenceOf } from '../../contract/operations.ts';

const PROJECT = new URL('../../', import.meta.url).pathname;

/** The source files that choose error codes, without the catalog and its pages. */
const SOURCES = ['server', 'domain', 'contract/reading']
  .flatMap(filesBelow)
  .filter((path) => path !== 'domain/error-codes.ts' && !/-page\.ts$/.test(path) && !path.startsWith('server/store/'));

function filesBelow(folder: string): readonly string[] {
  return readdirSync(join(PROJECT, folder), { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts') && !path.endsWith('.test.ts'))
    .map((path) => `${folder}/${path}`);
}

type Use = { readonly where: string; readonly code: string };

/** Returns the codes in a file: literal first arguments of `new Refusal(`, and tables of codes with their messages. */
function usesIn(path: string): readonly Use[] {
  const text = readFileSync(join(PROJECT, path), 'utf8');
  const patterns = [
    /(?:new Refusal|\brefuseSignIn)\(\s*['`]([^'`]+)['`]/g,
    /\[\s*'([a-z]+(?:_[a-z]+)+)',\s*['"][A-Z][^'"\n]* /g,
    /\bcode: '([a-z]+(?:_[a-z]+)+)'/g,
    /\bcode(?:: ErrorCode)? = [^;]*?'([a-z]+(?:_[a-z]+)+)'/g,
    /return [^;\n]*\? '([a-z]+(?:_[a-z]+)+)' : '[a-z]+_/g,
    /`(\$\{[^}]+\}_schema|unknown_\$\{[^}]+\})`/g,
  ];
  return patterns.flatMap((pattern) =>
    [...text.matchAll(pattern)].map((match) => ({ where: path, code: match[1] ?? '' })),
  );
}

const USES = SOURCES.flatMap(usesIn);
const isTemplate = ({ code }: Use): boolean => /^\$\{[^}]+\}_schema$|^unknown_\$\{[^}]+\}$/.test(code);

/** Returns whether a code is the error of a transfer that its processor did not execute. */
const isOnTransfer = (code: ErrorCode): boolean => ERRORS[code].sample.isOnTransfer === true;

/** Source files that only create_transfer uses: for the rows of a batch, and for the checks. */
const OF_CREATE_TRANSFER = [
  'server/subjects/transfers/create-transfer-batch.ts',
  'domain/transfers/limit-checks.ts',
  'domain/transfers/transfer-checks.ts',
];

describe('codes in the source', () => {
  test('do not occur in the store, which this test does not search', () => {
    for (const path of filesBelow('server/store')) {
      expect(readFileSync(join(PROJECT, path), 'utf8'), path).not.toContain('Refusal(');
    }
  });

  test('are all in the catalog', () => {
    expect(USES.length).toBeGreaterThan(60);
    const strange = USES.filter((use) => !isTemplate(use) && !isErrorCode(use.code));
    expect(strange).toEqual([]);
  });

  test('include every shared code and both families', () => {
    const thrown = new Set(USES.map(({ code }) => code));
    const isShared = (code: ErrorCode): boolean => familyOf(code) === undefined && !isOnTransfer(code);
    expect(ERROR_CODES.filter((code) => isShared(code) && !thrown.has(code))).toEqual([]);
    const templates = USES.filter(isTemplate).map(({ code }) => code.replace(/\$\{.*\}/, '*'));
    expect(new Set(templates)).toEqual(new Set(['*_schema', 'unknown_*']));
  });

  test('are each listed by an operation, at most once per operation, except the codes of pages, sign-in and transfers', () => {
    const listed = new Set(OPERATION_IDS.flatMap((id) => precedenceOf(id)));
    const unlisted = ['unknown_request', ...Object.keys(SIGN_IN_ERRORS)];
    expect(ERROR_CODES.filter((code) => !listed.has(code) && !isOnTransfer(code))).toEqual(unlisted);
    for (const id of OPERATION_IDS) expect(new Set(precedenceOf(id)).size).toBe(precedenceOf(id).length);
  });

  test("include an operation's schema code only in its own source", () => {
    const own = (path: string): string => path.replace(/^.*\/|\.ts$/g, '').replaceAll('-', '_');
    const foreign = USES.filter(({ where, code }) => {
      const operation = isErrorCode(code) ? familyOf(code)?.operation : undefined;
      if (OF_CREATE_TRANSFER.includes(where)) return operation !== undefined && operation !== 'create_transfer';
      return operation !== undefined && operation !== own(where);
    });
    expect(foreign).toEqual([]);
  });
});
