import type { ESTree } from 'rolldown/utils';
import { type CodeFile, lineAt, type ProjectFile, type Rule, type Violation, violationAt, visit } from './project.ts';

/** More than this and a reader no longer holds the file in mind. */
const linesOfFile = 400;
/** Tests are read one at a time, so their files may be longer. */
const linesOfTestFile = 600;
/** What fits on one tall screen. */
const linesOfFunction = 70;

/** Long files that a program wrote and that cannot say so in their first line. */
const generatedWithoutMark: readonly string[] = [];

const isCounted = (file: ProjectFile) =>
  /\.(?:ts|tsx|mts|js|jsx|mjs|sql|css)$/.test(file.path) &&
  !file.isGenerated &&
  !generatedWithoutMark.includes(file.path);

const countLines = (text: string) => text.replace(/\n$/, '').split('\n').length;

/** Files stay short. */
export const fileSize: Rule = ({ files }) =>
  files.filter(isCounted).flatMap((file) => {
    const lines = countLines(file.text);
    const most = file.isTest ? linesOfTestFile : linesOfFile;
    if (lines <= most) return [];
    const sentence = `this file has ${lines} lines, and ${most} are the most; split it where its subject changes.`;
    return [{ file: file.path, line: most + 1, sentence }];
  });

/** The callback of a `describe` is a table of contents, not a function that someone must follow. */
function isTableOfContents(call: ESTree.CallExpression): boolean {
  let callee: ESTree.Expression = call.callee;
  while (callee.type !== 'Identifier') {
    if (callee.type === 'MemberExpression') callee = callee.object;
    else if (callee.type === 'CallExpression') callee = callee.callee;
    else return false;
  }
  return callee.name === 'describe';
}

function longFunctions(file: CodeFile): Violation[] {
  const found: Violation[] = [];
  const spared = new Set<number>();
  const check = (node: ESTree.Function | ESTree.ArrowFunctionExpression) => {
    const lines = lineAt(file, node.end) - lineAt(file, node.start) + 1;
    if (lines <= linesOfFunction || spared.has(node.start)) return;
    const sentence = `this function has ${lines} lines, and ${linesOfFunction} are the most; give one of its steps a name of its own.`;
    found.push(violationAt(file, node, sentence));
  };
  visit(file, {
    CallExpression: (node) => {
      if (!file.isTest || !isTableOfContents(node)) return;
      for (const argument of node.arguments) spared.add(argument.start);
    },
    FunctionDeclaration: check,
    FunctionExpression: check,
    ArrowFunctionExpression: check,
  });
  return found;
}

/** Functions stay short. */
export const functionSize: Rule = ({ code }) => code.filter(isCounted).flatMap(longFunctions);
