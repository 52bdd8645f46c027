import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { isIPv4 } from 'node:net';
import { onTestFinished } from 'vitest';

/**
 * Returns the addresses of a name for each of its look-ups, counted from 1. `silent` means no response, and undefined
 * means an unknown name.
 */
export type Zone = (name: string, lookUp: number) => readonly string[] | 'silent' | undefined;

export type NameServer = {
  /** The name servers to set in a sender's limits. */
  readonly nameServers: readonly string[];
  /** Returns how often a name was looked up. */
  readonly lookUps: (name: string) => number;
};

const TYPE_A = 1;
const TYPE_AAAA = 28;

/** Runs a name server on loopback until the end of the test. It never answers queries of the type `dropped`. */
export async function startNameServer(zone: Zone, dropped?: 'A' | 'AAAA'): Promise<NameServer> {
  const droppedType = dropped && { A: TYPE_A, AAAA: TYPE_AAAA }[dropped];
  /** The look-ups of each name. The resolver may repeat a query with the same id, and queries AAAA after A. */
  const lookUps = new Map<string, { readonly id: number; readonly count: number; readonly found: ReturnType<Zone> }>();
  const socket = createSocket('udp4');
  socket.on('message', (query, { port, address }) => {
    const { name, type, end } = readQuestion(query);
    const id = query.readUInt16BE(0);
    const before = lookUps.get(name);
    if (before === undefined || (type === TYPE_A && before.id !== id)) {
      const count = (before?.count ?? 0) + 1;
      lookUps.set(name, { id, count, found: zone(name, count) });
    }
    const found = lookUps.get(name)?.found;
    if (found !== 'silent' && type !== droppedType) socket.send(toResponse(query, end, type, found), port, address);
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  onTestFinished(() => void socket.close());
  return { nameServers: [`127.0.0.1:${socket.address().port}`], lookUps: (name) => lookUps.get(name)?.count ?? 0 };
}

function readQuestion(query: Buffer): { readonly name: string; readonly type: number; readonly end: number } {
  const labels: string[] = [];
  let at = 12;
  for (let length = query.readUInt8(at); length > 0; length = query.readUInt8(at)) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length));
    at += 1 + length;
  }
  return { name: labels.join('.').toLowerCase(), type: query.readUInt16BE(at + 1), end: at + 5 };
}

/**
 * Builds a response as RFC 1035, section 4.1, specifies: a header, the unchanged question, and a record for each address of the
 * requested type.
 */
function toResponse(query: Buffer, end: number, type: number, addresses: readonly string[] | undefined): Buffer {
  const records = (addresses ?? [])
    .filter((address) => (isIPv4(address) ? TYPE_A : TYPE_AAAA) === type)
    .map((address) => {
      const data = toBytes(address);
      const record = Buffer.alloc(12);
      record.writeUInt16BE(0xc00c, 0);
      record.writeUInt16BE(type, 2);
      record.writeUInt16BE(1, 4);
      record.writeUInt16BE(data.length, 10);
      return Buffer.concat([record, data]);
    });
  const header = Buffer.alloc(12);
  query.copy(header, 0, 0, 2);
  header.writeUInt16BE(addresses === undefined ? 0x8183 : 0x8180, 2);
  header.writeUInt16BE(1, 4);
  header.writeUInt16BE(records.length, 6);
  return Buffer.concat([header, query.subarray(12, end), ...records]);
}

/** Returns the bytes of an address. An IPv6 address may be shortened, and may end in an IPv4 address. */
function toBytes(address: string): Buffer {
  if (isIPv4(address)) return Buffer.from(address.split('.').map(Number));
  const groups = new URL(`http://[${address}]`).hostname.slice(1, -1).split('::');
  const [head = [], tail] = groups.map((part) => part.split(':').filter((group) => group !== ''));
  const zeros = Array.from({ length: 8 - head.length - (tail?.length ?? 0) }, () => '0');
  const all = tail === undefined ? head : [...head, ...zeros, ...tail];
  return Buffer.from(all.map((group) => group.padStart(4, '0')).join(''), 'hex');
}
