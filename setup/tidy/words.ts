import type { ESTree } from 'rolldown/utils';
import { type CodeFile, lineAt, type ProjectFile, type Rule, type Violation, violationAt, visit } from './project.ts';

/** Drawers into which anything fits, so that nothing is found again. */
const drawers = new Set(['utils', 'util', 'helpers', 'helper', 'common', 'shared', 'lib', 'misc']);
const drawerFiles = new Set(['types', 'interfaces', 'index']);

/** Folders and files are named after their subject. */
export const names: Rule = ({ files }) =>
  files.flatMap(({ path }) => {
    const parts = path.split('/');
    const file = parts.at(-1) ?? '';
    const isCode = /\.(?:ts|tsx|mts|js|jsx|mjs)$/.test(file);
    const stem = file.replace(/\..*$/, '');
    const bad = [...parts.slice(0, -1), stem].find((part) => drawers.has(part.toLowerCase()));
    const name = bad ?? (isCode && drawerFiles.has(stem.toLowerCase()) ? stem : undefined);
    if (name === undefined) return [];
    const sentence = `"${name}" names a drawer, not a subject; name it after the concept inside, or move each part to the file it serves.`;
    return [{ file: path, line: 1, sentence }];
  });

/** Types say what a value is. */
export const noAny: Rule = ({ code }) =>
  code.flatMap((file) => {
    const found: Violation[] = [];
    const sentence = '`any` switches the checks off for all it touches; name the type, or use `unknown` and look.';
    visit(file, { TSAnyKeyword: (node) => found.push(violationAt(file, node, sentence)) });
    return found;
  });

const badComments: readonly { readonly pattern: RegExp; readonly sentence: string }[] = [
  {
    pattern: /@ts-(?:ignore|expect-error|nocheck)\b/,
    sentence: 'this comment silences the compiler; mend the type it complains of.',
  },
  {
    pattern: /\b(?:TODO|FIXME)\b/,
    sentence: 'this comment puts work off; do it now, or open an issue and say here only what holds today.',
  },
];

/** Comments neither silence the compiler nor put work off. */
export const comments: Rule = ({ code }) =>
  code.flatMap((file) =>
    file.comments.flatMap((comment) =>
      badComments
        .filter(({ pattern }) => pattern.test(comment.value))
        .map(({ sentence }) => violationAt(file, comment, sentence)),
    ),
  );

const testFunctions = new Set(['it', 'test', 'describe', 'suite', 'bench']);
const partialRuns = new Set(['only', 'skip', 'todo', 'skipIf', 'runIf']);

function rootName(expression: ESTree.Expression): string | undefined {
  let node = expression;
  while (node.type === 'MemberExpression' || node.type === 'CallExpression') {
    node = node.type === 'MemberExpression' ? node.object : node.callee;
  }
  return node.type === 'Identifier' ? node.name : undefined;
}

/** Every test runs, every time. */
export const noPartialRuns: Rule = ({ code }) =>
  code
    .filter(({ isTest }) => isTest)
    .flatMap((file) => {
      const found: Violation[] = [];
      visit(file, {
        MemberExpression: (node) => {
          const name = node.property.type === 'Identifier' && !node.computed ? node.property.name : '';
          if (!partialRuns.has(name) || !testFunctions.has(rootName(node.object) ?? '')) return;
          const sentence = `\`.${name}\` leaves tests out; mend the test or remove it.`;
          found.push(violationAt(file, node.property, sentence));
        },
      });
      return found;
    });

type Exported = { readonly name: string; readonly start: number };

const isFunction = (node: ESTree.Expression | null) =>
  node?.type === 'ArrowFunctionExpression' || node?.type === 'FunctionExpression';

/** The name under which a declaration is public, if it is one of those that need a comment. */
function documentable(declaration: ESTree.Node): string | undefined {
  switch (declaration.type) {
    case 'FunctionDeclaration':
    case 'TSDeclareFunction':
    case 'ClassDeclaration':
      return declaration.id?.name ?? 'default';
    case 'TSTypeAliasDeclaration':
    case 'TSInterfaceDeclaration':
      return declaration.id.name;
    case 'VariableDeclaration': {
      const [first] = declaration.declarations;
      if (first?.id.type !== 'Identifier' || !isFunction(first.init)) return undefined;
      return first.id.name;
    }
    default:
      return undefined;
  }
}

/** What the file gives away: marked where it is declared, or listed in an `export { ... }`. */
function exportsOf(file: CodeFile): Exported[] {
  const declared = new Map<string, number>();
  const found = new Map<string, Exported>();
  const add = (name: string | undefined, start: number) => {
    // The first of several overloads carries the comment.
    if (name !== undefined && !found.has(name)) found.set(name, { name, start });
  };
  for (const node of file.program.body) {
    const name = documentable(node);
    if (name !== undefined && !declared.has(name)) declared.set(name, node.start);
  }
  for (const node of file.program.body) {
    if (node.type === 'ExportDefaultDeclaration') add(documentable(node.declaration), node.start);
    if (node.type !== 'ExportNamedDeclaration') continue;
    if (node.declaration !== null) add(documentable(node.declaration), node.start);
    if (node.source !== null) continue;
    for (const { local } of node.specifiers) {
      const start = local.type === 'Identifier' ? declared.get(local.name) : undefined;
      if (local.type === 'Identifier' && start !== undefined) add(local.name, start);
    }
  }
  return [...found.values()];
}

function hasDocComment(file: CodeFile, start: number): boolean {
  return file.comments.some(
    (comment) =>
      comment.type === 'Block' &&
      comment.value.startsWith('*') &&
      comment.end <= start &&
      /^[^\S\n]*\n?[^\S\n]*$/.test(file.text.slice(comment.end, start)),
  );
}

/** What other people build on explains itself. */
export const docComments: Rule = ({ code }) =>
  code
    .filter((file) => /^(?:contract|sdk|domain)\//.test(file.path) && !file.isTest && !file.isGenerated)
    .flatMap((file) =>
      exportsOf(file)
        .filter(({ start }) => !hasDocComment(file, start))
        .map((exported) => {
          const sentence = `${exported.name} is public and has no doc comment; write one directly above it (units, errors, the rule it keeps).`;
          return violationAt(file, exported, sentence);
        }),
    );

/** What tells where the project was made instead of what it is. */
const foreign: readonly { readonly pattern: RegExp; readonly sentence: string }[] = [
  {
    pattern: /(?:^|[^\w.~}/-])\/work\//gm,
    sentence: 'this path exists on one machine only; write it relative to the project.',
  },
  {
    pattern:
      /\bregistry\.(?:npmjs|yarnpkg)\.|\/\/[^\s/'"]*\b(?:registry|artifactory|nexus|verdaccio|npm-proxy|npm-mirror)\b[^\s/'"]*/gi,
    sentence: "this names a package registry; leave the choice to each machine's own settings of npm.",
  },
];

function foreignTraces(file: ProjectFile): Violation[] {
  return foreign.flatMap(({ pattern, sentence }) =>
    [...file.text.matchAll(pattern)].map((match) => ({
      file: file.path,
      line: lineAt(file, match.index + match[0].length),
      sentence,
    })),
  );
}

/** Nothing in the project depends on where it was made. */
export const noForeignTraces: Rule = ({ files }) =>
  files.filter(({ path }) => path !== 'package-lock.json').flatMap(foreignTraces);
