import { program } from "../../packages/cli/src/program.ts";

type Command = ReturnType<typeof program>;

const PROGRAM = program();

/** A command line of `mainspring` in a page. */
export interface CommandLine {
  /** Line of the page, from 1. */
  line: number;
  /** Words after `mainspring`. */
  words: string[];
  /** Whether a block for a shell contains it, so that it must be complete. Text may name a command alone. */
  isComplete: boolean;
}

/** Finds `mainspring` as a command, with a space behind it. */
const CALL = /(?<![\w./@:=-])mainspring (?=[a-z-])/g;
/** Ends of a command in a shell, outside quotes. */
const END = /[|;&)><#\n]/;

/** The command lines of a Markdown page: in blocks for a shell, and in code within text. */
export function commandLines(markdown: string): CommandLine[] {
  const found: CommandLine[] = [];
  let fence: string | null = null;
  const lines = markdown.split("\n");
  for (const [index, line] of lines.entries()) {
    const opened = /^\s*```(\S*)/.exec(line)?.[1];
    if (opened !== undefined) fence = fence === null ? opened : null;
    else if (fence === null) found.push(...inText(line, index + 1));
    else if (fence === "sh") found.push(...inShell(joined(lines, index), index + 1));
  }
  return found;
}

/** A line with those that a backslash at its end joins to it. */
function joined(lines: readonly string[], index: number): string {
  const line = lines[index] ?? "";
  return line.endsWith("\\") ? `${line.slice(0, -1)} ${joined(lines, index + 1)}` : line;
}

function inText(line: string, number: number): CommandLine[] {
  const spans = [...line.matchAll(/`(mainspring [^`]+)`/g)].map(([, span = ""]) => span);
  return spans.flatMap((span) => inShell(span, number)).map((call) => ({ ...call, isComplete: false }));
}

function inShell(text: string, line: number): CommandLine[] {
  const code = text.replace(/(^|\s)# .*/, "");
  return [...code.matchAll(CALL)].flatMap(({ index, 0: call }) => {
    if (isName(code.slice(0, index))) return [];
    const words = shellWords(code.slice(index + call.length));
    return [{ line, words: words[0] === "--" ? words.slice(1) : words, isComplete: true }];
  });
}

/** Whether the word behind this text is a name that another program gets, such as that of a release of Helm. */
function isName(before: string): boolean {
  const command = before.slice(before.search(/[^|;&(]*$/));
  return /^\s*(kubectl|helm|docker)\s/.test(command) && !command.endsWith(" -- ");
}

/** Words of a command up to its end. Quotes are removed; `$(…)` stays as it is. */
function shellWords(text: string): string[] {
  const words: string[] = [];
  let word: string | null = null;
  let quote: string | null = null;
  let depth = 0;
  for (const [index, char] of [...text].entries()) {
    if (quote === null && depth === 0 && END.test(char)) {
      // The number of a stream that is redirected is no word.
      if (char === ">" && word !== null && /^\d$/.test(word)) word = null;
      break;
    }
    if (text.startsWith("$(", index - 1) && char === "(") depth += 1;
    else if (char === ")" && depth > 0) depth -= 1;
    if (depth === 0 && char === quote) quote = null;
    else if (depth === 0 && quote === null && /["']/.test(char)) {
      quote = char;
      word ??= "";
    } else if (quote === null && depth === 0 && char === " ") {
      if (word !== null) words.push(word);
      word = null;
    } else word = (word ?? "") + char;
  }
  if (word !== null) words.push(word);
  return words;
}

/** Why the command would refuse a line before it asks a server; null: it would not. */
export function commandFault({ words, isComplete }: CommandLine): string | null {
  const { command, rest } = commandOf(PROGRAM, words);
  const [next] = rest;
  if (command.commands.length > 0) {
    if (next === undefined || next.startsWith("--") || isPlaceholder(next)) return null;
    return `there is no command \`${next}\``;
  }
  let given = 0;
  for (let index = 0; index < rest.length; index++) {
    const word = rest[index] ?? "";
    if (!word.startsWith("--")) given += 1;
    else if (word !== "--help") {
      const [name = "", value] = word.split("=", 2);
      const option = command.options.find(({ long }) => long === name);
      if (option === undefined) return `there is no option \`${name}\``;
      if (option.required && value === undefined) index += 1;
      if (option.required && isComplete && value === undefined && index >= rest.length)
        return `\`${name}\` has no value`;
    }
  }
  return argumentFault(command, { given, isComplete });
}

function commandOf(start: Command, words: readonly string[]): { command: Command; rest: readonly string[] } {
  const [first] = words;
  const child = start.commands.find((one) => one.name() === first || one.aliases().includes(first ?? ""));
  return child === undefined ? { command: start, rest: words } : commandOf(child as Command, words.slice(1));
}

function argumentFault(command: Command, { given, isComplete }: { given: number; isComplete: boolean }): string | null {
  const { registeredArguments } = command;
  const needed = registeredArguments.filter(({ required }) => required).length;
  if (isComplete && given < needed) return `\`${command.name()}\` needs ${needed} arguments`;
  const isOpen = registeredArguments.some(({ variadic }) => variadic);
  return !isOpen && given > registeredArguments.length ? `\`${command.name()}\` takes fewer arguments` : null;
}

function isPlaceholder(word: string): boolean {
  return /^[A-Z…$"]/.test(word);
}
