import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { maskedText, maskLongNumbers } from '../../domain/cards/masked-text.ts';
import { maskPath } from '../../server/foundation/redaction.ts';
import { codeOfRecord } from '../../server/http/wire/record-response.ts';
import { type HttpTestServer, startHttpServer } from '../harness/http-server.ts';
import { bare, post, RawConnection } from '../harness/raw-connection.ts';

const CHUNKED = bare('POST', '/api/v0.1/core/transfer', ['Host: localhost', 'Transfer-Encoding: chunked']);
const STARTS: readonly Buffer[] = [
  post('{"amount":1000,"card_id":"card_1"}', ['Content-Type: application/json', 'Idempotency-Key: k1']),
  Buffer.from(`${CHUNKED}10\r\n{"amount":1000,"\r\n0\r\n\r\n`),
  Buffer.from(bare('GET', '/api/v0.1/core/transfer?limit=5', ['Host: localhost', 'Connection: keep-alive'])),
  Buffer.from(bare('DELETE', '/api/v0.1/core/card/card_1', ['Host: localhost', 'Origin: http://localhost'])),
];

type Change = { readonly at: number; readonly removed: number; readonly put: Uint8Array };

const change: fc.Arbitrary<Change> = fc.record({
  at: fc.nat({ max: 400 }),
  removed: fc.nat({ max: 8 }),
  put: fc.oneof(
    fc.uint8Array({ maxLength: 6 }),
    fc
      .constantFrom('\r\n', '\r\n\r\n', '\n', ':', ' ', '\0', '%', '"', '4111111111111111', 'Host: a\r\n')
      .map((text) => Buffer.from(text)),
  ),
});
const mangled = fc
  .tuple(fc.array(fc.constantFrom(...STARTS), { minLength: 1, maxLength: 3 }), fc.array(change, { maxLength: 4 }))
  .map(([starts, changes]) => changes.reduce(apply, Buffer.concat(starts)));

function apply(bytes: Buffer, { at, removed, put }: Change): Buffer {
  const start = at % (bytes.length + 1);
  return Buffer.concat([bytes.subarray(0, start), put, bytes.subarray(start + removed)]);
}

let started: HttpTestServer;
beforeAll(async () => {
  started = await startHttpServer();
});
afterAll(() => started.server.close());

describe('mangled requests', () => {
  it('get only error records or successes, and the service keeps running', async () => {
    await fc.assert(
      fc.asyncProperty(mangled, async (bytes) => {
        const connection = await RawConnection.open(started.port);
        connection.send(bytes);
        connection.socket.end();
        const received = await connection.rest();
        if (bytes.length > 0) expect(received).toMatch(/^HTTP\/1\.1 \d{3} /);
        for (const response of received.split(/(?=HTTP\/1\.1 \d{3} )/)) {
          const [head = '', body = ''] = response.split('\r\n\r\n', 2);
          const status = Number(head.slice(9, 12));
          if (status < 400) continue;
          const code = /^Error-Code: (\S+)$/im.exec(head)?.[1];
          if (body !== '') expect(codeOfRecord(body, status)).toBe(code);
          // The pattern ignores longer runs of digits, which are not card numbers.
          expect(body).not.toMatch(/(?<![0-9])4111111111111111(?![0-9])|FST_|HPE_/);
          expect(head).toMatch(/^Request-Id: req_[0-9a-f]{32}$/m);
        }
      }),
      { numRuns: 400 },
    );
    expect((await started.ask(bare('GET', '/health/live'))).status).toBe(200);
  });
});

describe("a caller's text in a message", () => {
  it('has no eight digits in a row, grouped or not', () => {
    const piece = fc.constantFrom('4', '1', '0', '12', '3456', '4111 1111', '-', ' ', '.', 'a', '  ', 'é', '\n');
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 60 }), (pieces) => {
        const shown = maskedText(pieces.join(''), 200);
        expect(shown).toMatch(/^[\x20-\x7e…]*$/);
        expect(shown.replaceAll(/(?<=\d)[-. ](?=\d)/g, '')).not.toMatch(/\d{8}/);
      }),
    );
  });

  it('is otherwise unchanged', () => {
    expect(maskedText("card_1 it's 1234567")).toBe("card_1 it's 1234567");
    expect(maskLongNumbers('/card/4111111111111111/x/12-34-56-78')).toBe('/card/…/x/…');
    expect(maskPath('/card/4111%25201111%202525/x%20y')).toBe('/card/…/x y');
    expect(maskedText('x'.repeat(50))).toBe(`${'x'.repeat(40)}…`);
  });
});
