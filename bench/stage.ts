import type { Options } from './command-line.ts';
import type { Seed } from './ledger/seed.ts';
import type { DatabaseServer } from './ledger/server.ts';
import type { Tool } from './machine.ts';
import type { Resources } from './resources.ts';

/** A PostgreSQL server, and the database that its ledgers are copied from. */
export type Site = { readonly server: DatabaseServer; readonly seed: Seed };

/** The context of every part of the bench. */
export type Stage = Site & {
  readonly options: Options;
  readonly resources: Resources;
  /** pgbench with its databases filled. Undefined if it is not installed or not needed. */
  readonly pgbench: Tool | undefined;
  /** A PostgreSQL 15 with the settings of its distribution. Undefined if it is not installed or not needed. */
  readonly ownSite: Site | undefined;
  readonly say: (line: string) => void;
};
