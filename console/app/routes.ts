import {
  ArrowLeftRight,
  Banknote,
  Cpu,
  CreditCard,
  FlaskConical,
  Inbox,
  KeyRound,
  Landmark,
  LayoutDashboard,
  Lightbulb,
  type LucideIcon,
  Power,
  Scale,
  ScrollText,
  Search,
  Siren,
  Stamp,
  TriangleAlert,
  Truck,
  Unplug,
  Users,
  Webhook,
} from 'lucide-preact';
import type { KeyScope } from '../../sdk/client.ts';
import type { Parameters, Screen } from '../data/location.ts';

export type Route = {
  /** The path. Parameters follow a colon. */
  readonly path: string;
  readonly title: string;
  /** A shorter title for the navigation. */
  readonly name?: string;
  readonly load: () => Promise<Screen>;
  readonly scope: KeyScope | undefined;
  /** Whether the screen shows data of one card program, so the user must choose a program first. */
  readonly ofProgram: boolean;
  /** Whether the screen finds its record in any program, and then chooses the record's program. */
  readonly choosesProgram?: true;
  readonly sandboxOnly?: boolean;
  /** Whether the screen shows actual times even when the sandbox clock was moved. */
  readonly hasActualTimes?: boolean;
  /** The icon in the navigation. */
  readonly icon?: LucideIcon;
  /** The group in the navigation. A screen about one record has none. */
  readonly group?: Group;
  /** The letter after `g` that opens the screen. */
  readonly letter?: string;
};

export const GROUPS = ['Watch', 'Money', 'Control', 'Build'] as const;

export type Group = (typeof GROUPS)[number];

export const ROUTES: readonly Route[] = [
  {
    path: '/console',
    title: 'Overview',
    load: async () => (await import('../screens/overview/overview-screen.tsx')).OverviewScreen,
    scope: 'operator:read',
    ofProgram: false,
    hasActualTimes: true,
    icon: LayoutDashboard,
    group: 'Watch',
    letter: 'o',
  },
  {
    path: '/console/search',
    title: 'Search',
    load: async () => (await import('../screens/search/search-screen.tsx')).SearchScreen,
    scope: undefined,
    ofProgram: false,
    icon: Search,
    group: 'Watch',
    letter: 'f',
  },
  {
    path: '/console/errors',
    title: 'Errors',
    load: async () => (await import('../screens/errors/errors-screen.tsx')).ErrorsScreen,
    scope: 'errors:read',
    ofProgram: false,
    hasActualTimes: true,
    icon: TriangleAlert,
    group: 'Watch',
    letter: 'e',
  },
  {
    path: '/console/failed-webhooks',
    title: 'Failed webhooks',
    load: async () => (await import('../screens/failed-webhooks/failed-webhooks-screen.tsx')).FailedWebhooksScreen,
    scope: 'webhooks:read',
    ofProgram: false,
    hasActualTimes: true,
    icon: Unplug,
    group: 'Watch',
    letter: 'd',
  },
  {
    path: '/console/request/:request_id',
    title: 'Request',
    load: async () => (await import('../screens/request/request-screen.tsx')).RequestScreen,
    scope: 'errors:read',
    ofProgram: false,
    choosesProgram: true,
    hasActualTimes: true,
  },
  {
    path: '/console/cases',
    title: 'Cases',
    load: async () => (await import('../screens/cases/cases-screen.tsx')).CasesScreen,
    scope: 'cases:read',
    ofProgram: false,
    icon: Inbox,
    group: 'Watch',
    letter: 'q',
  },
  {
    path: '/console/case/:case_id',
    title: 'Case',
    load: async () => (await import('../screens/case/case-screen.tsx')).CaseScreen,
    scope: 'cases:read',
    ofProgram: false,
    choosesProgram: true,
  },
  {
    path: '/console/incidents',
    title: 'Incidents',
    load: async () => (await import('../screens/incidents/incidents-screen.tsx')).IncidentsScreen,
    scope: undefined,
    ofProgram: false,
    icon: Siren,
    group: 'Watch',
    letter: 'i',
  },
  {
    path: '/console/incident/:incident_id',
    title: 'Incident',
    load: async () => (await import('../screens/incident/incident-screen.tsx')).IncidentScreen,
    scope: undefined,
    ofProgram: false,
  },
  {
    path: '/console/processors',
    title: 'Processors',
    load: async () => (await import('../screens/processors/processors-screen.tsx')).ProcessorsScreen,
    scope: 'operator:read',
    ofProgram: false,
    icon: Cpu,
    group: 'Watch',
    letter: 'r',
  },
  {
    path: '/console/break/:break_id',
    title: 'Break',
    load: async () => (await import('../screens/break/break-screen.tsx')).BreakScreen,
    scope: 'operator:read',
    ofProgram: false,
    choosesProgram: true,
  },
  {
    path: '/console/transfers',
    title: 'Transfers',
    load: async () => (await import('../screens/transfers/transfers-screen.tsx')).TransfersScreen,
    scope: 'transfers:read',
    ofProgram: true,
    icon: ArrowLeftRight,
    group: 'Money',
    letter: 't',
  },
  {
    path: '/console/transfer/:transfer_id',
    title: 'Transfer',
    load: async () => (await import('../screens/transfer/transfer-screen.tsx')).TransferScreen,
    scope: 'transfers:read',
    ofProgram: true,
  },
  {
    path: '/console/cards',
    title: 'Cards',
    load: async () => (await import('../screens/cards/cards-screen.tsx')).CardsScreen,
    scope: 'cards:read',
    ofProgram: true,
    icon: CreditCard,
    group: 'Money',
    letter: 'c',
  },
  {
    path: '/console/card/:card_id',
    title: 'Card',
    load: async () => (await import('../screens/card/card-screen.tsx')).CardScreen,
    scope: 'cards:read',
    ofProgram: true,
  },
  {
    path: '/console/programs',
    title: 'Programs and funding',
    name: 'Programs',
    load: async () => (await import('../screens/programs/programs-screen.tsx')).ProgramsScreen,
    scope: 'operator:read',
    ofProgram: false,
    icon: Landmark,
    group: 'Money',
    letter: 'p',
  },
  {
    path: '/console/programs/:program_id',
    title: 'Program',
    load: async () => (await import('../screens/program/program-screen.tsx')).ProgramScreen,
    scope: 'operator:read',
    ofProgram: false,
  },
  {
    path: '/console/programs/:program_id/day',
    title: 'Day',
    load: async () => (await import('../screens/day/day-screen.tsx')).DayScreen,
    scope: 'operator:read',
    ofProgram: false,
  },
  {
    path: '/console/movements',
    title: 'Deposits and withdrawals',
    name: 'Deposits',
    load: async () => (await import('../screens/movements/movements-screen.tsx')).MovementsScreen,
    scope: 'operator:read',
    ofProgram: false,
    icon: Banknote,
    group: 'Money',
    letter: 'm',
  },
  {
    path: '/console/move-ins',
    title: 'Move-ins',
    load: async () => (await import('../screens/move-ins/move-ins-screen.tsx')).MoveInsScreen,
    scope: 'operator:read',
    ofProgram: false,
    icon: Truck,
    group: 'Money',
    letter: 'n',
  },
  {
    path: '/console/move-ins/:move_in_id',
    title: 'Move-in',
    load: async () => (await import('../screens/move-ins/move-in-screen.tsx')).MoveInScreen,
    scope: 'operator:read',
    ofProgram: false,
    choosesProgram: true,
  },
  {
    path: '/console/move-ins/comparison/:comparison_id',
    title: 'Comparison',
    load: async () => (await import('../screens/move-ins/comparison-screen.tsx')).ComparisonScreen,
    scope: 'operator:read',
    ofProgram: false,
    choosesProgram: true,
  },
  {
    path: '/console/settlement',
    title: 'Settlement',
    load: async () => (await import('../screens/settlement/settlement-screen.tsx')).SettlementScreen,
    scope: 'operator:read',
    ofProgram: false,
    icon: Scale,
    group: 'Money',
    letter: 'l',
  },
  {
    path: '/console/settlement/:file_id',
    title: 'Settlement file',
    load: async () => (await import('../screens/settlement/settlement-file-screen.tsx')).SettlementFileScreen,
    scope: 'operator:read',
    ofProgram: false,
  },
  {
    path: '/console/approvals',
    title: 'Approvals',
    load: async () => (await import('../screens/approvals/approvals-screen.tsx')).ApprovalsScreen,
    scope: 'operator:read',
    ofProgram: false,
    icon: Stamp,
    group: 'Control',
    letter: 'v',
  },
  {
    path: '/console/approval/:approval_id',
    title: 'Approval',
    load: async () => (await import('../screens/approval/approval-screen.tsx')).ApprovalScreen,
    scope: 'operator:read',
    ofProgram: false,
  },
  {
    path: '/console/switch',
    title: 'Switch',
    load: async () => (await import('../screens/switch/switch-screen.tsx')).SwitchScreen,
    scope: 'operator:read',
    ofProgram: false,
    icon: Power,
    group: 'Control',
    letter: 's',
  },
  {
    path: '/console/audit',
    title: 'Audit',
    load: async () => (await import('../screens/audit/audit-screen.tsx')).AuditScreen,
    scope: 'operator:read',
    ofProgram: false,
    hasActualTimes: true,
    icon: ScrollText,
    group: 'Control',
    letter: 'a',
  },
  {
    path: '/console/keys',
    title: 'Keys and sessions',
    name: 'Keys',
    load: async () => (await import('../screens/keys/keys-screen.tsx')).KeysScreen,
    scope: 'operator:read',
    ofProgram: false,
    icon: KeyRound,
    group: 'Control',
    letter: 'k',
  },
  {
    path: '/console/access',
    title: 'Access',
    load: async () => (await import('../screens/access/access-screen.tsx')).AccessScreen,
    scope: 'operator:read',
    ofProgram: false,
    icon: Users,
    group: 'Control',
  },
  {
    path: '/console/explain',
    title: 'Explain',
    load: async () => (await import('../screens/explain/explain-screen.tsx')).ExplainScreen,
    scope: 'transfers:read',
    ofProgram: true,
    icon: Lightbulb,
    group: 'Build',
    letter: 'x',
  },
  {
    path: '/console/webhooks',
    title: 'Webhooks',
    load: async () => (await import('../screens/webhooks/webhooks-screen.tsx')).WebhooksScreen,
    scope: 'webhooks:read',
    ofProgram: true,
    icon: Webhook,
    group: 'Build',
    letter: 'w',
  },
  {
    path: '/console/webhooks/:webhook_id',
    title: 'Webhook',
    load: async () => (await import('../screens/webhook/webhook-screen.tsx')).WebhookScreen,
    scope: 'webhooks:read',
    ofProgram: true,
  },
  {
    path: '/console/sandbox',
    title: 'Sandbox',
    load: async () => (await import('../screens/sandbox/sandbox-screen.tsx')).SandboxScreen,
    scope: undefined,
    ofProgram: true,
    sandboxOnly: true,
    icon: FlaskConical,
    group: 'Build',
    letter: 'b',
  },
];

/** Loads the code of a screen that the user will probably open. It ignores errors, because opening the screen reports them. */
export function preload({ load }: Route): void {
  load().catch(() => undefined);
}

export function findRoute(path: string): { readonly route: Route; readonly parameters: Parameters } | undefined {
  for (const route of ROUTES) {
    const parameters = matchPath(route.path, path);
    if (parameters !== undefined) return { route, parameters };
  }
  return undefined;
}

function matchPath(pattern: string, path: string): Parameters | undefined {
  const [wanted, given] = [pattern.split('/'), path.split('/')];
  if (wanted.length !== given.length) return undefined;
  const parameters: Record<string, string> = {};
  for (const [at, segment] of wanted.entries()) {
    const value = given[at] ?? '';
    if (segment.startsWith(':') ? value === '' : segment !== value) return undefined;
    if (segment.startsWith(':')) parameters[segment.slice(1)] = decoded(value);
  }
  return parameters;
}

function decoded(value: string): string {
  try {
    return decodeURIComponent(value);
  } catch {
    return value;
  }
}
