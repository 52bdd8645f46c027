/** The three groups of errors (specification, sections 2.1 and 7.1). */
export const ERROR_TYPES = ['Request Error', 'Server Error', 'Process Error'] as const;

/** One of {@link ERROR_TYPES}. */
export type ErrorType = (typeof ERROR_TYPES)[number];

/** Whether the request that was answered moved money: `no` and `yes` are certain. */
export type MoneyMoved = 'no' | 'yes' | 'unknown';

/** What the catalogue says of one code. `status` and `type` never vary for a code (specification, section 7.2). */
export type CatalogueEntry = {
  readonly status: number;
  readonly type: ErrorType;
  /** What the code stands for, in a sentence. */
  readonly meaning: string;
  /** What brings it about, each a full sentence. */
  readonly causes: readonly string[];
  /** What to do. */
  readonly resolution: string;
  /** Who can do it (specification, section 7.1). */
  readonly resolver: 'caller' | 'support';
  /** What it says about money, when a money operation answers with it. */
  readonly moneyMoved: 'no' | 'no or unknown';
  /** Whether the same request, sent again unchanged, can succeed. */
  readonly retry: boolean;
  /** Version of the interface that first had the code. Codes are never renamed and never used for something else. */
  readonly since: string;
  /** How anyone sees it in the sandbox without the Sandbox-Provoke header. */
  readonly reproduce: string;
};

/** What is common to faults of the request, which the caller resolves. */
export const CALLER = {
  type: 'Request Error',
  resolver: 'caller',
  moneyMoved: 'no',
  retry: false,
  since: '0.1',
} as const;
/** What is common to faults of the service itself. */
export const SERVER = {
  type: 'Server Error',
  resolver: 'support',
  moneyMoved: 'no',
  retry: true,
  since: '0.1',
} as const;
/** What is common to processes of the service that did not run. */
export const PROCESS = {
  type: 'Process Error',
  resolver: 'support',
  moneyMoved: 'no',
  retry: false,
  since: '0.1',
} as const;
