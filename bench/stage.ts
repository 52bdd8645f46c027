import type { Belongings } from './belongings.ts';
import type { Options } from './command-line.ts';
import type { Seed } from './ledger/seed.ts';
import type { DatabaseServer } from './ledger/server.ts';
import type { Tool } from './machine.ts';

/** All that a part of the bench works with. */
export type Stage = {
  readonly options: Options;
  readonly belongings: Belongings;
  readonly server: DatabaseServer;
  readonly seed: Seed;
  /** Ready to run, its database filled; undefined where there is none. */
  readonly pgbench: Tool | undefined;
  readonly wrk: Tool | undefined;
  readonly say: (line: string) => void;
};
