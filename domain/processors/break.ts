/** The kinds of contradictions to the books. */
export const BREAK_KINDS = [
  'late_approval',
  'contradiction',
  'unknown_attempt',
  'unhandled_notice',
  'reused_notice_id',
] as const;

export type BreakKind = (typeof BREAK_KINDS)[number];
