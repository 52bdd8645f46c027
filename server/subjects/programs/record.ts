import type { ProgramRecord } from '../../../contract/programs.ts';
import { toWireId } from '../../../domain/identifier.ts';
import { toWire } from '../../../domain/ledger/money.ts';
import { fromLimits } from '../../store/ledger/limits.ts';
import type { Program } from '../../store/program.ts';

/** A card program as the contract shows it. */
export function toProgramRecord(program: Program): ProgramRecord {
  return {
    program_id: toWireId('prog', program.programId),
    name: program.name,
    currency: program.currency,
    time_zone: program.timeZone,
    funding: program.funding.map(({ currency, balance, held }) => ({
      currency,
      balance: toWire(balance),
      available: toWire(balance - held),
    })),
    limits: fromLimits(program.limits),
    card_limits: fromLimits(program.cardLimits),
    funding_low_threshold: program.fundingLowThreshold === null ? null : toWire(program.fundingLowThreshold),
    metadata: program.metadata,
    created_at: program.createdAt.toISOString(),
  };
}
