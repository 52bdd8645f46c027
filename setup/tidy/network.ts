import type { ESTree } from 'rolldown/utils';
import { globalsThatCall, mayCallOthers, namesFromNetworkModules, networkModules } from './house.ts';
import { MemberNames } from './members.ts';
import { type CodeFile, type Rule, type Violation, violationAt, visit } from './project.ts';

const isIn = (rooms: readonly string[], path: string) =>
  rooms.some((room) => path === room || path.startsWith(`${room}/`));

const isNetworkModule = (specifier: string) => {
  const name = specifier.replace(/^node:/, '');
  return networkModules.some((known) => name === known || name.startsWith(`${known}/`));
};

/** A name as it is written; undefined for one that is computed. */
function nameOf(node: ESTree.Node): string | undefined {
  if (node.type === 'Identifier') return node.name;
  return node.type === 'Literal' && typeof node.value === 'string' ? node.value : undefined;
}

/** The names that an import takes of a network module beside types, which vanish; `*` for all of it. */
function valuesOf(node: ESTree.ImportDeclaration): readonly string[] {
  if (node.importKind === 'type') return [];
  return node.specifiers.flatMap((part) => {
    if (part.type !== 'ImportSpecifier') return ['*'];
    return part.importKind === 'type' ? [] : [nameOf(part.imported) ?? '*'];
  });
}

function imports(file: CodeFile): Violation[] {
  const found: Violation[] = [];
  const allowed = namesFromNetworkModules
    .filter(({ rooms }) => rooms === 'everywhere' || isIn(rooms, file.path))
    .flatMap(({ names }) => names);
  const report = (node: { readonly start: number }, name: string, specifier: string) => {
    const what = name === '*' ? `all of "${specifier}"` : `\`${name}\` of "${specifier}"`;
    const sentence = `the service calls nobody, and with ${what} it could; setup/tidy/house.ts says which names of such modules may be imported, and where.`;
    found.push(violationAt(file, node, sentence));
  };
  const whole = (node: { readonly start: number; readonly source: ESTree.Node | null }) => {
    const { source } = node;
    const specifier = source === null ? undefined : nameOf(source);
    if (specifier !== undefined && isNetworkModule(specifier)) report(node, '*', specifier);
  };
  visit(file, {
    ImportDeclaration: (node) => {
      if (!isNetworkModule(node.source.value)) return;
      for (const name of valuesOf(node)) if (!allowed.includes(name)) report(node, name, node.source.value);
    },
    ExportNamedDeclaration: (node) => {
      if (node.exportKind !== 'type') whole(node);
    },
    ExportAllDeclaration: (node) => {
      if (node.exportKind !== 'type') whole(node);
    },
    ImportExpression: whole,
  });
  return found;
}

const isGlobalObject = (node: ESTree.Node | null) =>
  node?.type === 'Identifier' && (node.name === 'globalThis' || node.name === 'global');

function globals(file: CodeFile): Violation[] {
  const found: Violation[] = [];
  const report = (node: { readonly start: number }, name: string) => {
    const sentence = `the service calls nobody, and with \`${name}\` it could; setup/tidy/house.ts lists the rooms that may, and something of your own had better have another name.`;
    found.push(violationAt(file, node, sentence));
  };
  const members = new MemberNames();
  visit(file, {
    ...members.visitor,
    MemberExpression: (node) => {
      const name = node.computed && node.property.type === 'Identifier' ? undefined : nameOf(node.property);
      if (!node.computed) members.note(node.property);
      if (isGlobalObject(node.object) && name !== undefined && globalsThatCall.includes(name)) report(node, name);
    },
    VariableDeclarator: (node) => {
      if (!isGlobalObject(node.init) || node.id.type !== 'ObjectPattern') return;
      for (const part of node.id.properties) {
        const name = part.type === 'Property' && !part.shorthand ? nameOf(part.key) : undefined;
        if (name !== undefined && globalsThatCall.includes(name)) report(part, name);
      }
    },
    Identifier: (node) => {
      if (globalsThatCall.includes(node.name) && !members.has(node)) report(node, node.name);
    },
  });
  // A shorthand is a key and a value at once.
  return found.filter(({ line, sentence }, at) =>
    found.slice(0, at).every((other) => other.line !== line || other.sentence !== sentence),
  );
}

/** The service is called and calls nobody: no URL that somebody sends is ever fetched, because nothing could. */
export const callsNobody: Rule = ({ code }) =>
  code
    .filter(({ path, isTest }) => !isTest && !isIn(mayCallOthers, path))
    .flatMap((file) => [...imports(file), ...globals(file)]);
