import { startDistance } from '../../test/harness/distance.ts';

// A proxy to PostgreSQL, in a separate process. Its arguments are a Unix socket and the milliseconds of a round trip. Prints its
// port and ends with its parent.

const [path = '', milliseconds = ''] = process.argv.slice(2);
const { port } = await startDistance({ path }, Number(milliseconds));
process.stdout.write(`${port}\n`);
process.stdin.resume();
process.stdin.once('end', () => process.exit(0));
