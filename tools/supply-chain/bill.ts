import { createHash } from 'node:crypto';
import { BUNDLED, type BundledProgram } from './bundled.ts';
import { type LockedPackage, type Lockfile, type Manifest, packagesOf, pathOfDependency } from './packages.ts';

/** A component of a bill of materials, in the format of CycloneDX 1.6. */
export type Component = {
  readonly type: 'application' | 'library' | 'platform';
  readonly 'bom-ref': string;
  readonly group?: string;
  readonly name: string;
  readonly version?: string;
  /**
   * `required` components run in production, `optional` ones only on some platforms, and `excluded` ones only in
   * development.
   */
  readonly scope: 'required' | 'optional' | 'excluded';
  readonly hashes?: readonly { readonly alg: 'SHA-512'; readonly content: string }[];
  readonly licenses: readonly (
    | { readonly license: { readonly id: string } | { readonly name: string } }
    | { readonly expression: string }
  )[];
  readonly purl: string;
  readonly properties?: readonly { readonly name: string; readonly value: string }[];
  /** The programs inside the component. */
  readonly components?: readonly Component[];
};

/** A CycloneDX 1.6 bill of materials: everything in the project except its own source. */
export type BillOfMaterials = {
  readonly bomFormat: 'CycloneDX';
  readonly specVersion: '1.6';
  readonly serialNumber: string;
  readonly version: 1;
  readonly metadata: { readonly component: object };
  readonly components: readonly Component[];
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[];
};

/** Scopes of CycloneDX, the most needed first. */
const NEED: readonly Component['scope'][] = ['required', 'optional', 'excluded'];

/**
 * The bill of materials of a manifest and its lockfile, with the packages that run in production. The same files always produce
 * the same bytes. It contains no time, and its serial number is derived from its content.
 */
export function billOfMaterials(manifest: Manifest, lockfile: Lockfile, running: ReadonlySet<string>): BillOfMaterials {
  const packages = packagesOf(lockfile);
  const components = new Map<string, Component>();
  for (const [path, name, locked] of packages) {
    const component = componentOf(name, locked, running.has(path));
    const other = components.get(component['bom-ref']);
    // A version that is installed twice gets the more needed scope.
    if (other === undefined || NEED.indexOf(component.scope) < NEED.indexOf(other.scope)) {
      components.set(component['bom-ref'], component);
    }
  }
  const project = purlOf(manifest.name, manifest.version);
  const dependencies = new Map<string, Set<string>>([[project, new Set(needed(lockfile, ''))]]);
  for (const [path, name, { version = '' }] of packages) {
    const purl = purlOf(name, version);
    dependencies.set(purl, new Set([...(dependencies.get(purl) ?? []), ...needed(lockfile, path)]));
  }
  const content = {
    version: 1,
    metadata: {
      component: {
        type: 'application',
        'bom-ref': project,
        name: manifest.name,
        version: manifest.version,
        description: manifest.description,
        licenses: licensesOf(String(manifest.license)),
        purl: project,
      },
    },
    components: [...components.values()].sort(byReference),
    dependencies: [...dependencies].map(([ref, all]) => ({ ref, dependsOn: [...all].sort() })),
  } as const;
  return { bomFormat: 'CycloneDX', specVersion: '1.6', serialNumber: serialNumberOf(content), ...content };
}

function byReference(one: Component, other: Component): number {
  return one['bom-ref'] < other['bom-ref'] ? -1 : 1;
}

function componentOf(fullName: string, locked: LockedPackage, isRunning: boolean): Component {
  const { version = '', integrity = '', license = '' } = locked;
  const purl = purlOf(fullName, version);
  const [name = '', group] = fullName.split('/').toReversed();
  const scope = locked.dev === true && !isRunning ? 'excluded' : locked.optional === true ? 'optional' : 'required';
  const programs = (BUNDLED[fullName] ?? []).map((program) => bundledComponent(program, purl, scope));
  return {
    type: 'library',
    'bom-ref': purl,
    ...(group === undefined ? {} : { group }),
    name,
    version,
    scope,
    hashes: [{ alg: 'SHA-512', content: Buffer.from(integrity.replace(/^sha512-/, ''), 'base64').toString('hex') }],
    licenses: licensesOf(license),
    purl,
    ...(scope === 'excluded' ? { properties: [{ name: 'cdx:npm:package:development', value: 'true' }] } : {}),
    ...(programs.length === 0 ? {} : { components: programs }),
  };
}

/** A program inside a package has no hash. The hash of the package covers it. */
function bundledComponent(program: BundledProgram, inside: string, scope: Component['scope']): Component {
  const { type, name, version, license } = program;
  const known = version === undefined ? {} : { version };
  const purl = ['pkg:generic/', name, ...(version === undefined ? [] : ['@', version])].join('');
  return { type, 'bom-ref': `${inside}#${name}`, name, ...known, scope, licenses: licensesOf(license), purl };
}

function licensesOf(expression: string): Component['licenses'] {
  if (expression === '') return [];
  if (/^LicenseRef-/.test(expression)) return [{ license: { name: expression.replace('LicenseRef-', '') } }];
  return / /.test(expression) ? [{ expression }] : [{ license: { id: expression } }];
}

function purlOf(name: string, version: string): string {
  return `pkg:npm/${name.replace('@', '%40')}@${encodeURIComponent(version)}`;
}

/** Returns the dependencies of a package, or of the project, as far as they are in the lockfile. */
function needed(lockfile: Lockfile, path: string): readonly string[] {
  const { dependencies, optionalDependencies, devDependencies, peerDependencies } = lockfile.packages[path] ?? {};
  const names = Object.keys({ ...dependencies, ...optionalDependencies, ...devDependencies, ...peerDependencies });
  return names.flatMap((name) => {
    const found = pathOfDependency(lockfile, path, name);
    return found === undefined ? [] : [purlOf(name, lockfile.packages[found]?.version ?? '')];
  });
}

/** A UUID (version 8, custom) derived from the content. */
function serialNumberOf(content: object): string {
  const hash = createHash('sha256').update(JSON.stringify(content)).digest('hex');
  const parts = [hash.slice(0, 8), hash.slice(8, 12), `8${hash.slice(13, 16)}`, `8${hash.slice(17, 20)}`];
  return `urn:uuid:${[...parts, hash.slice(20, 32)].join('-')}`;
}
