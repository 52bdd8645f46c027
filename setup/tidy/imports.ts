import { posix } from 'node:path';
import { type ESTree, Visitor } from 'rolldown/utils';
import { exceptions, packagesOfTests, type Room, roomOf } from './house.ts';
import { type CodeFile, type Rule, type Violation, violationAt } from './project.ts';

type Import = {
  readonly start: number;
  /** As written; undefined when only the running program knows it. */
  readonly specifier: string | undefined;
};

type Written = { readonly start: number; readonly type: string };

function textOf(node: Written & { readonly value?: unknown; readonly quasis?: readonly ESTree.TemplateElement[] }) {
  if (typeof node.value === 'string') return node.value;
  if (node.type === 'TemplateLiteral' && node.quasis?.length === 1) return node.quasis[0]?.value.cooked ?? undefined;
  return undefined;
}

/** Every way in which one module names another, types included: an import that vanishes at run time still binds. */
function importsOf(file: CodeFile): Import[] {
  const found: Import[] = [];
  const add = (node: { readonly start: number }, source: Written | null) => {
    if (source !== null) found.push({ start: node.start, specifier: textOf(source) });
  };
  new Visitor({
    ImportDeclaration: (node) => add(node, node.source),
    ExportNamedDeclaration: (node) => add(node, node.source),
    ExportAllDeclaration: (node) => add(node, node.source),
    ImportExpression: (node) => add(node, node.source),
    TSImportType: (node) => add(node, node.source),
  }).visit(file.program);
  return found;
}

const isRelative = (specifier: string) => /^\.{1,2}(?:\/|$)/.test(specifier);
const target = (file: CodeFile, specifier: string) => posix.join(posix.dirname(file.path), specifier);

function packageFault(file: CodeFile, room: Room, specifier: string): string | undefined {
  if (room.packages === 'any') return undefined;
  const allowed = file.isTest ? [...room.packages, ...packagesOfTests] : room.packages;
  const fits = (name: string) =>
    name.endsWith(':') ? specifier.startsWith(name) : specifier === name || specifier.startsWith(`${name}/`);
  if (allowed.some(fits)) return undefined;
  const list = allowed.length === 0 ? 'no package and no module of Node' : `only ${allowed.join(', ')}`;
  return `${room.room} imports ${list}, not "${specifier}"; take what it gives as an argument, or move this code to a room that may.`;
}

function relativeFault(file: CodeFile, room: Room, to: string): string | undefined {
  if (room.mayImport === 'everything') return undefined;
  if (exceptions.some((exception) => exception.from === file.path && exception.to === to)) return undefined;
  const other = roomOf(to);
  // A test beside its subject may stand on what all tests stand on.
  if (file.isTest && other?.room === 'test') return undefined;
  if (other?.room === room.room || (other !== undefined && room.mayImport.includes(other.room))) return undefined;
  const list = room.mayImport.length === 0 ? 'only itself' : `only ${room.mayImport.join(', ')}`;
  return `${room.room} may import ${list}, and ${to} is in ${other?.room ?? 'no room'}; the arrow in setup/tidy/house.ts points the other way: pass it in as an argument, or move the code to the room it belongs to.`;
}

/** Imports follow the arrow of ARCHITECTURE.md. */
export const arrow: Rule = ({ code }) =>
  code.flatMap((file) => {
    const room = roomOf(file.path);
    if (room === undefined) {
      const sentence = 'this file stands in no room; move it into one, or give its room a line in setup/tidy/house.ts.';
      return [{ file: file.path, line: 1, sentence }];
    }
    return importsOf(file).flatMap((found) => {
      const { specifier } = found;
      const hidden = 'the arrow cannot be checked for an import whose name is computed; write the name as a literal.';
      let fault: string | undefined;
      if (specifier === undefined) fault = room.mayImport === 'everything' ? undefined : hidden;
      else if (isRelative(specifier)) fault = relativeFault(file, room, target(file, specifier));
      else fault = packageFault(file, room, specifier);
      return fault === undefined ? [] : [violationAt(file, found, fault)];
    });
  });

type Edge = { readonly to: string; readonly start: number };

function edgesOf(code: readonly CodeFile[]): Map<string, Edge[]> {
  const known = new Set(code.map(({ path }) => path));
  const edges = (file: CodeFile) =>
    importsOf(file).flatMap(({ specifier, start }) => {
      if (specifier === undefined || !isRelative(specifier)) return [];
      const to = target(file, specifier);
      return known.has(to) ? [{ to, start }] : [];
    });
  return new Map(code.map((file) => [file.path, edges(file)]));
}

/** No file imports itself by way of others. Each cycle is told once, at the import that closes it. */
export const noCycles: Rule = ({ code }) => {
  const edges = edgesOf(code);
  const files = new Map(code.map((file) => [file.path, file]));
  const done = new Set<string>();
  const trail: string[] = [];
  const found: Violation[] = [];
  const follow = (path: string): void => {
    trail.push(path);
    for (const { to, start } of edges.get(path) ?? []) {
      const from = trail.indexOf(to);
      const file = files.get(path);
      if (from !== -1 && file !== undefined) {
        const circle = [...trail.slice(from), to].join(' -> ');
        const sentence = `this import closes a circle: ${circle}; move what both need into a file that imports neither.`;
        found.push(violationAt(file, { start }, sentence));
      } else if (!done.has(to)) follow(to);
    }
    trail.pop();
    done.add(path);
  };
  for (const path of edges.keys()) if (!done.has(path)) follow(path);
  return found;
};
