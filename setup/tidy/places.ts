import type { ESTree } from 'rolldown/utils';
import { MemberNames } from './members.ts';
import { type CodeFile, type Rule, type Violation, violationAt, visit } from './project.ts';

const isIn = (folders: readonly string[]) => (file: { readonly path: string }) =>
  folders.some((folder) => file.path === folder || file.path.startsWith(`${folder}/`));

const mayReadEnvironment = isIn(['server/config.ts', 'cli/environment.ts', 'setup', 'test', 'bench']);

/** The name of a member as far as it can be read off the page. */
function memberName(node: ESTree.MemberExpression): string | undefined {
  if (!node.computed) return node.property.type === 'Identifier' ? node.property.name : undefined;
  return node.property.type === 'Literal' && typeof node.property.value === 'string' ? node.property.value : undefined;
}

const isNamed = (node: ESTree.Node, name: string) => node.type === 'Identifier' && node.name === name;

function environmentReads(file: CodeFile): Violation[] {
  const found: Violation[] = [];
  const report = (node: { readonly start: number }) => {
    const sentence =
      'the environment is read in server/config.ts (cli/environment.ts for the command line) and nowhere else; take the setting as an argument.';
    found.push(violationAt(file, node, sentence));
  };
  visit(file, {
    MemberExpression: (node) => {
      if (memberName(node) === 'env' && isNamed(node.object, 'process')) report(node);
    },
    VariableDeclarator: (node) => {
      if (node.init === null || !isNamed(node.init, 'process') || node.id.type !== 'ObjectPattern') return;
      if (node.id.properties.some((part) => part.type === 'Property' && isNamed(part.key, 'env'))) report(node);
    },
    ImportDeclaration: (node) => {
      if (!/^(?:node:)?process$/.test(node.source.value)) return;
      if (node.specifiers.some((part) => part.type === 'ImportSpecifier' && isNamed(part.imported, 'env')))
        report(node);
    },
  });
  return found;
}

/** Settings enter through one door. */
export const environmentInOnePlace: Rule = ({ code }) =>
  code.filter((file) => !mayReadEnvironment(file)).flatMap(environmentReads);

const mayHoldSql = isIn(['server/store', 'server/embedded-postgres', 'test', 'bench']);

/** How statements begin; in capitals or without any, for `Select a card from the list` is a sentence. */
const statementBeginnings = [
  'select\\b[\\s\\S]*\\bfrom\\b',
  'select\\s+(?:[\\w.]+\\(|\\d|\\$\\d|current_|pg_)',
  'insert\\s+into\\s',
  'update\\s+(?:only\\s+)?[\\w."?]+(?:\\s+(?:as\\s+)?\\w+)?\\s+set\\s',
  'delete\\s+from\\s',
  'merge\\s+into\\s',
  'with\\s+(?:recursive\\s+)?\\w+(?:\\s*\\([^)]*\\))?\\s+as\\s+(?:(?:not\\s+)?materialized\\s*)?\\(',
  '(?:create|alter|drop)\\s+(?:or\\s+replace\\s+|unlogged\\s+|unique\\s+|temp(?:orary)?\\s+)*(?:table|index|view|schema|role|user|database|function|trigger|type|sequence|policy|extension|publication|materialized)\\s',
  '(?:begin|commit|rollback|start)\\s+(?:transaction|work|isolation|read|and|to\\s+savepoint)\\b',
  'truncate\\s+(?:table\\s+)?\\w+\\s*;?\\s*$',
  'lock\\s+table\\s',
  'set\\s+(?:local|session|role|transaction)\\s',
  '(?:savepoint|release\\s+savepoint)\\s+\\w+\\s*;?\\s*$',
  '(?:grant|revoke)\\s+[\\w,\\s]+\\s+on\\s',
  '(?:listen|notify|unlisten)\\s+\\w+\\s*;?\\s*$',
  '(?:vacuum|analyze|reindex|copy)\\s+(?:table\\s+)?[\\w."]+\\s*(?:;|\\(|from|to|$)',
];
const statement = new RegExp(`^\\s*(?:${statementBeginnings.join('|')})`, 'i');

function isSql(text: string): boolean {
  const firstWord = /^\s*(\w+)/.exec(text)?.[1] ?? '';
  const oneCase = firstWord === firstWord.toUpperCase() || firstWord === firstWord.toLowerCase();
  return oneCase && statement.test(text);
}

/** Bare words such as `commit` are only statements when they are handed to a connection. */
function isBareStatement(call: ESTree.CallExpression): boolean {
  const [first] = call.arguments;
  if (first?.type !== 'Literal' || typeof first.value !== 'string') return false;
  if (!/^(?:begin|commit|rollback|abort)\s*;?$/i.test(first.value)) return false;
  return call.callee.type === 'MemberExpression' && /^(?:query|execute|run|send)$/.test(memberName(call.callee) ?? '');
}

function statements(file: CodeFile): Violation[] {
  const found: Violation[] = [];
  const report = (node: { readonly start: number }) => {
    const sentence = 'SQL stands in server/store and nowhere else; give this statement a function there and call it.';
    found.push(violationAt(file, node, sentence));
  };
  visit(file, {
    Literal: (node) => {
      if (typeof node.value === 'string' && isSql(node.value)) report(node);
    },
    TemplateLiteral: (node) => {
      if (isSql(node.quasis.map(({ value }) => value.cooked ?? value.raw).join('?'))) report(node);
    },
    CallExpression: (node) => {
      if (isBareStatement(node)) report(node);
    },
  });
  return found;
}

/** One room knows the database's language. */
export const sqlInOnePlace: Rule = ({ code, files }) => {
  const inCode = code.filter((file) => !mayHoldSql(file)).flatMap(statements);
  const inFiles = files
    .filter((file) => file.path.endsWith('.sql') && !mayHoldSql(file))
    .map(({ path }) => ({ file: path, line: 1, sentence: 'SQL files stand in server/store; move this one there.' }));
  return [...inCode, ...inFiles];
};

const looseNumbers = 'money is counted in whole minor units; use the named helpers of domain/ledger/money.ts';
const impureGlobals: Readonly<Record<string, string>> = {
  crypto: 'ids and randomness come in as arguments',
  performance: 'the time comes in as an argument',
  process: 'what the process knows comes in as an argument',
  setTimeout: 'the domain decides and never waits',
  setInterval: 'the domain decides and never waits',
};

function impurities(file: CodeFile): Violation[] {
  const found: Violation[] = [];
  const report = (node: { readonly start: number }, what: string, mend: string) =>
    found.push(violationAt(file, node, `\`${what}\` has no place in domain/: ${mend}.`));
  const members = new MemberNames();
  const mayCount = file.path === 'domain/ledger/money.ts';
  visit(file, {
    ...members.visitor,
    MemberExpression: (node) => {
      const name = memberName(node);
      if (node.object.type !== 'Identifier') return;
      const whole = `${node.object.name}.${name ?? '…'}`;
      if (!node.computed) members.note(node.property);
      if (node.object.name === 'Number') members.note(node.object);
      if (whole === 'Date.now') report(node, whole, 'the time comes in as an argument');
      else if (whole === 'Math.random') report(node, whole, 'ids and randomness come in as arguments');
      else if (mayCount) return;
      else if (node.object.name === 'Math') report(node, whole, looseNumbers);
      else if (whole === 'Number.parseFloat' || whole === 'Number.parseInt') report(node, whole, looseNumbers);
    },
    NewExpression: (node) => {
      if (isNamed(node.callee, 'Date') && node.arguments.length === 0)
        report(node, 'new Date()', 'the time comes in as an argument');
    },
    CallExpression: (node) => {
      if (isNamed(node.callee, 'Date')) report(node, 'Date()', 'the time comes in as an argument');
    },
    Identifier: (node) => {
      if (members.has(node)) return;
      if (!mayCount && /^(?:Number|parseFloat|parseInt)$/.test(node.name)) report(node, node.name, looseNumbers);
      const why = Object.hasOwn(impureGlobals, node.name) ? impureGlobals[node.name] : undefined;
      if (why !== undefined) report(node, node.name, why);
    },
  });
  return found;
}

/** The domain is arithmetic on what it is given. */
export const pureDomain: Rule = ({ code }) =>
  code.filter((file) => isIn(['domain'])(file) && !file.isTest).flatMap(impurities);
