import { elementsOf, type Slice, trimmed } from "./json-elements.ts";
import { AT_ONCE_BYTES, ITEM_MAX_BYTES, LETTER_MAX_BYTES } from "./limits.ts";

/** Lists that the sender may divide over several messages, by the kind of their message. */
const DIVIDED: Readonly<Record<string, string>> = { HINT: "rows", ASSIGN: "assigns", FINISHED: "results" };
/** Stands for a letter that is too large to be read; no node understands it. */
const STRANGE = null;

/** A list of a message that is too long to be parsed at once. */
interface LongList extends Slice {
  key: string;
}

/**
 * Reads the letters of a packet in steps that take at most some milliseconds; between them the caller may end the turn
 * of the event loop. A long list that may be divided arrives as several letters.
 * @throws {SyntaxError} the text is no list, or no JSON
 */
export function* wireLetters(text: Buffer): Generator<readonly unknown[]> {
  const list = trimmed(text, { start: 0, end: text.length });
  if (text[list.start] !== OPEN_BRACKET) throw new SyntaxError("the messages of a packet are not a list");
  for (const group of groupsOf(text, list)) {
    if (group === null) yield [];
    else if (group.end - group.start <= AT_ONCE_BYTES) yield parseList(text, group);
    else yield* longLetter(text, group);
  }
}

/** Reads a letter whose message has long lists. */
function* longLetter(text: Buffer, letter: Slice): Generator<readonly unknown[]> {
  const parts: Slice[] = [];
  for (const part of elementsOf(text, letter)) {
    if (part === null) yield [];
    else parts.push(part);
  }
  const [role, message] = parts;
  if (role === undefined || message === undefined || parts.length > 2) return yield [STRANGE];
  const lists: LongList[] = [];
  const short: string[] = [];
  for (const member of elementsOf(text, message)) {
    if (member === null) yield [];
    else if (member.end - member.start <= AT_ONCE_BYTES) short.push(textOf(text, member));
    else lists.push(longList(text, member));
  }
  const head = JSON.parse(`{${short.join(",")}}`) as Record<string, unknown>;
  const address = JSON.parse(textOf(text, role)) as unknown;
  const [list] = lists;
  if (list !== undefined && lists.length === 1 && DIVIDED[String(head.kind)] === list.key) {
    for (const items of itemsOf(text, list))
      yield items.length === 0 ? [] : [[address, { ...head, [list.key]: items }]];
  } else if (letter.end - letter.start > LETTER_MAX_BYTES) yield [STRANGE];
  else yield* wholeLetter(text, address, head, lists);
}

function* wholeLetter(
  text: Buffer,
  address: unknown,
  message: Record<string, unknown>,
  lists: readonly LongList[],
): Generator<readonly unknown[]> {
  for (const list of lists) {
    const all: unknown[] = [];
    for (const items of itemsOf(text, list)) {
      for (const item of items) all.push(item);
      yield [];
    }
    message[list.key] = all;
  }
  yield [[address, message]];
}

/** @throws {SyntaxError} the text is no list */
function longList(text: Buffer, member: Slice): LongList {
  const colon = text.indexOf(COLON, text.indexOf(QUOTE, text.indexOf(QUOTE, member.start) + 1));
  if (colon === -1 || colon >= member.end) throw new SyntaxError("a member of a message has no value");
  const key = JSON.parse(textOf(text, { start: member.start, end: colon })) as string;
  return { key, start: colon + 1, end: member.end };
}

function* itemsOf(text: Buffer, list: Slice): Generator<readonly unknown[]> {
  for (const group of groupsOf(text, list)) yield group === null ? [] : parseList(text, group);
}

/**
 * Groups of consecutive elements that are parsed at once; null: no group is complete yet. An element that is too large
 * for a group is one by itself.
 */
function* groupsOf(text: Buffer, list: Slice): Generator<Slice | null> {
  let group: Slice | null = null;
  for (const element of elementsOf(text, list)) {
    if (element === null) yield null;
    else if (group !== null && element.end - group.start <= AT_ONCE_BYTES) group.end = element.end;
    else {
      if (group !== null) yield group;
      group = { ...element };
    }
  }
  if (group !== null) yield group;
}

function parseList(text: Buffer, elements: Slice): unknown[] {
  if (elements.end - elements.start > ITEM_MAX_BYTES) throw new SyntaxError("an item of a message is too large");
  return JSON.parse(`[${textOf(text, elements)}]`) as unknown[];
}

function textOf(text: Buffer, { start, end }: Slice): string {
  return text.toString("utf8", start, end);
}

const OPEN_BRACKET = 0x5b;
const COLON = 0x3a;
const QUOTE = 0x22;
