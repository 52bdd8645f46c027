import type pg from 'pg';
import { StartupProblem } from '../../foundation/startup-problem.ts';
import type { AppliedMigration } from './compatibility.ts';
import { type Migration, namesCreatedBy } from './migration-files.ts';

/** The roles of the service. They belong to the whole server. */
export const ROLES = [
  'transfer_service_application',
  'transfer_service_background',
  'transfer_service_authentication',
] as const;

/** From this version on, CREATEROLE alone does not allow a user to grant itself a role that another user created. */
const ADMIN_OPTION_VERSION = 160_000;

type Rights = {
  /** Quoted where PostgreSQL requires it. */
  readonly user: string;
  readonly versionNumber: number;
  readonly createsRoles: boolean;
  readonly inheritsRoles: boolean;
  readonly createsSchemas: boolean;
  readonly hasSchema: boolean;
  readonly usesSchema: boolean;
  readonly createsInSchema: boolean;
  /** Whether the roles of the service may use the schema, or the user may grant them that right. */
  readonly letsRolesIn: boolean;
  readonly languages: readonly string[];
};

type RoleRights = {
  readonly role: string;
  readonly exists: boolean;
  readonly isMember: boolean;
  readonly grants: boolean;
};

/**
 * Returns one problem that lists all rights that the user lacks to create a new ledger, with the statements that grant them.
 * Returns undefined if none is missing. This check comes first, because otherwise the first migrations would succeed and leave half
 * a ledger. It changes nothing.
 */
export async function findMissingRights(client: pg.ClientBase, schema: string): Promise<StartupProblem | undefined> {
  const rights = await readRights(client, schema);
  const missing = [
    ...findMissingSchemaRights(rights, schema),
    ...findMissingRoles(rights, await readRoleRights(client)),
    ...rights.languages.map(
      (language) =>
        `The user ${rights.user} may not use the language ${language}. ` +
        `As a superuser: GRANT USAGE ON LANGUAGE ${language} TO ${rights.user};`,
    ),
  ];
  return missing.length === 0 ? undefined : new StartupProblem('database-rights', missing.join('\n'));
}

/** Returns the missing rights of a user who migrates an existing ledger. That user must own the tables and see their rows. */
export async function findMissingUpgradeRights(
  client: pg.ClientBase,
  schema: string,
  migrations: readonly Migration[],
  applied: readonly AppliedMigration[],
): Promise<StartupProblem | undefined> {
  const rights = await readRights(client, schema);
  const { user } = rights;
  const missing = [...findMissingSchemaRights(rights, schema)];
  const names = new Set(applied.map(({ name }) => name));
  const owners = await readOtherOwners(
    client,
    migrations.filter(({ name }) => names.has(name)).flatMap(namesCreatedBy),
  );
  if (owners.length > 0) {
    // A user that is only a member of the owner's role would own the new tables itself. The owner could not migrate them next time.
    missing.push(
      `The user ${user} may not change the tables of the ledger, because they belong to ${owners.join(' and ')}. ` +
        'Run the command with the owner in DATABASE_URL.',
    );
  } else if (await isBlind(client)) {
    missing.push(
      `The user ${user} cannot see the rows that a migration may change. ` +
        `As a superuser: GRANT transfer_service_background TO ${user}${inheriting(rights)};`,
    );
  }
  return missing.length === 0 ? undefined : new StartupProblem('database-rights', missing.join('\n'));
}

function findMissingSchemaRights(rights: Rights, schema: string): readonly string[] {
  const { user, hasSchema, createsSchemas, usesSchema, createsInSchema, letsRolesIn } = rights;
  if (!hasSchema) {
    if (createsSchemas) return [];
    return [
      `The schema ${schema} does not exist, and the user ${user} may not create it. ` +
        `As a superuser: CREATE SCHEMA "${schema}" AUTHORIZATION ${user};`,
    ];
  }
  const missing: string[] = [];
  if (!usesSchema || !createsInSchema) {
    const lacking = usesSchema ? 'may not create tables in the schema' : 'may not use the schema';
    missing.push(
      `The user ${user} ${lacking} ${schema}. As a superuser: GRANT USAGE, CREATE ON SCHEMA "${schema}" TO ${user};`,
    );
  }
  if (!letsRolesIn) {
    missing.push(
      `The user ${user} may not let the roles of the service use the schema ${schema}. ` +
        `As a superuser: GRANT USAGE ON SCHEMA "${schema}" TO ${user} WITH GRANT OPTION;`,
    );
  }
  return missing;
}

function findMissingRoles(rights: Rights, roles: readonly RoleRights[]): readonly string[] {
  const { user, versionNumber, createsRoles, inheritsRoles } = rights;
  const others = roles.filter(({ isMember }) => !isMember);
  const grantsItself = ({ exists, grants }: RoleRights): boolean =>
    createsRoles && inheritsRoles && (!exists || grants || versionNumber < ADMIN_OPTION_VERSION);
  if (others.every(grantsItself)) return [];
  const absent = roles.filter(({ exists }) => !exists);
  const statements = [
    ...absent.map(({ role }) => `CREATE ROLE ${role};`),
    ...(inheritsRoles || versionNumber >= ADMIN_OPTION_VERSION ? [] : [`ALTER ROLE ${user} INHERIT;`]),
    `GRANT ${others.map(({ role }) => role).join(', ')} TO ${user}${inheriting(rights)};`,
  ];
  const create = absent.length > 0 && !createsRoles ? 'create the roles of the service, or act under them' : undefined;
  const what = create ?? 'act under the roles of the service';
  return [`The user ${user} may not ${what}. As a superuser: ${statements.join(' ')}`];
}

/** From PostgreSQL 16 on, a grant itself states whether its role is inherited. */
function inheriting({ inheritsRoles, versionNumber }: Rights): string {
  return inheritsRoles || versionNumber < ADMIN_OPTION_VERSION ? '' : ' WITH INHERIT TRUE';
}

async function readRights(client: pg.ClientBase, schema: string): Promise<Rights> {
  const { rows } = await client.query<Rights>(
    `select pg_catalog.quote_ident(current_user) as user,
        pg_catalog.current_setting('server_version_num')::pg_catalog.int4 as "versionNumber",
        rolsuper or rolcreaterole as "createsRoles", rolsuper or rolinherit as "inheritsRoles",
        pg_catalog.has_database_privilege(current_database(), 'create') as "createsSchemas",
        nspname is not null as "hasSchema",
        coalesce(pg_catalog.has_schema_privilege(pg_namespace.oid, 'usage'), false) as "usesSchema",
        coalesce(pg_catalog.has_schema_privilege(pg_namespace.oid, 'create'), false) as "createsInSchema",
        coalesce(
          pg_catalog.has_schema_privilege(pg_namespace.oid, 'usage with grant option')
            or pg_catalog.has_schema_privilege('public', pg_namespace.oid, 'usage')
            or (select pg_catalog.count(*) from pg_catalog.pg_roles as role
              where role.rolname = any ($2)
                and pg_catalog.has_schema_privilege(role.oid, pg_namespace.oid, 'usage')) = $3,
          false
        ) as "letsRolesIn",
        array(
          select lanname::text from pg_catalog.pg_language
          where lanname in ('plpgsql', 'sql') and not pg_catalog.has_language_privilege(oid, 'usage') order by lanname
        ) as languages
      from pg_catalog.pg_roles as own left join pg_catalog.pg_namespace on nspname = $1
      where own.rolname = current_user`,
    [schema, ROLES, ROLES.length],
  );
  const [rights] = rows;
  if (rights === undefined) throw new Error('the current user is not a role');
  return rights;
}

async function readRoleRights(client: pg.ClientBase): Promise<readonly RoleRights[]> {
  const { rows } = await client.query<RoleRights>(
    `select wanted as role, pg_roles.oid is not null as exists,
        coalesce(pg_catalog.pg_has_role(pg_roles.oid, 'usage'), false) as "isMember",
        coalesce(pg_catalog.pg_has_role(pg_roles.oid, 'usage with admin option'), false) as grants
      from pg_catalog.unnest($1::text[]) with ordinality as wanted (wanted, position)
      left join pg_catalog.pg_roles on rolname = wanted order by position`,
    [ROLES],
  );
  return rows;
}

/** The owners of tables and functions of the ledger whose rights the user does not have. */
async function readOtherOwners(client: pg.ClientBase, names: readonly string[]): Promise<readonly string[]> {
  const { rows } = await client.query<{ owner: string }>(
    `select distinct pg_catalog.quote_ident(pg_catalog.pg_get_userbyid(owner)) as owner from (
        select relowner as owner from pg_catalog.pg_class
        where relnamespace = current_schema()::regnamespace and relname = any ($1)
        union all
        select proowner from pg_catalog.pg_proc
        where pronamespace = current_schema()::regnamespace and proname = any ($1)
      ) as ours where not pg_catalog.pg_has_role(owner, 'usage') order by 1`,
    [['schema_migration', ...names]],
  );
  return rows.map(({ owner }) => owner);
}

/** Whether policies hide rows from the user. An UPDATE would then succeed without changing the hidden rows. */
async function isBlind(client: pg.ClientBase): Promise<boolean> {
  const { rows } = await client.query<{ blind: boolean }>(
    `select coalesce(not pg_has_role(to_regrole('transfer_service_background'), 'usage'), false)
        and exists (select from pg_policies where schemaname = current_schema() and policyname = 'all_programs') as blind`,
  );
  return rows[0]?.blind === true;
}
