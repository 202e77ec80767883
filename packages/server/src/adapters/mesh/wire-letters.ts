import { elementsOf, endOfText, type Slice, trimmed } from "./json-elements.ts";
import { AT_ONCE_BYTES, ITEM_MAX_BYTES, LETTER_MAX_BYTES } from "./limits.ts";

/** Lists that the sender may divide over several messages, by the kind of their message. */
const DIVIDED: Readonly<Record<string, string>> = { HINT: "rows", ASSIGN: "assigns", FINISHED: "results" };
/** Number of levels of a member that are read in steps: messages have lists in objects, and objects in those. */
const DEPTH_MAX = 4;
/** Stands for a letter that is too large to be read; no node understands it. */
const STRANGE = null;

/** A member of a message that is too long to be parsed at once: where its value is. */
interface LongMember extends Slice {
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

/** Reads a letter whose message has long members. */
function* longLetter(text: Buffer, letter: Slice): Generator<readonly unknown[]> {
  const parts: Slice[] = [];
  for (const part of elementsOf(text, letter)) {
    if (part === null) yield [];
    else parts.push(part);
  }
  const [role, message] = parts;
  if (role === undefined || message === undefined || parts.length > 2) return yield [STRANGE];
  const members: LongMember[] = [];
  const short: string[] = [];
  for (const member of elementsOf(text, message)) {
    if (member === null) yield [];
    else if (member.end - member.start <= AT_ONCE_BYTES) short.push(textOf(text, member));
    else members.push(longMember(text, member));
  }
  const head = JSON.parse(`{${short.join(",")}}`) as Record<string, unknown>;
  const address = JSON.parse(textOf(text, role)) as unknown;
  const [list] = members;
  if (list !== undefined && members.length === 1 && DIVIDED[String(head.kind)] === list.key) {
    for (const items of itemsOf(text, list))
      yield items.length === 0 ? [] : [[address, { ...head, [list.key]: items }]];
  } else if (letter.end - letter.start > LETTER_MAX_BYTES) yield [STRANGE];
  else yield* wholeLetter(text, address, head, members);
}

function* wholeLetter(
  text: Buffer,
  address: unknown,
  message: Record<string, unknown>,
  members: readonly LongMember[],
): Generator<readonly unknown[]> {
  const long: [string, unknown][] = [];
  for (const member of members) long.push([member.key, yield* valueOf(text, member, DEPTH_MAX)]);
  yield [[address, { ...message, ...Object.fromEntries(long) }]];
}

/**
 * Parses a value in steps: each yield is the end of one.
 * @param depth number of levels of lists and objects that are divided; what lies deeper is parsed at once
 * @throws {SyntaxError} the text is no JSON, or a part that cannot be divided is too large
 */
function* valueOf(text: Buffer, slice: Slice, depth: number): Generator<readonly unknown[], unknown> {
  const value = trimmed(text, slice);
  const first = text[value.start];
  const isDivided = value.end - value.start > AT_ONCE_BYTES && depth > 0;
  if (isDivided && first === OPEN_BRACKET) return yield* listOf(text, value, depth - 1);
  if (isDivided && first === OPEN_BRACE) return yield* objectOf(text, value, depth - 1);
  return parseList(text, value)[0];
}

function* listOf(text: Buffer, list: Slice, depth: number): Generator<readonly unknown[], unknown[]> {
  const all: unknown[] = [];
  for (const group of groupsOf(text, list)) {
    if (group === null) yield [];
    else if (group.end - group.start > AT_ONCE_BYTES) all.push(yield* valueOf(text, group, depth));
    else {
      for (const item of parseList(text, group)) all.push(item);
      yield [];
    }
  }
  return all;
}

function* objectOf(text: Buffer, object: Slice, depth: number): Generator<readonly unknown[], object> {
  const all: [string, unknown][] = [];
  for (const element of elementsOf(text, object)) {
    if (element === null) yield [];
    else {
      const member = longMember(text, element);
      all.push([member.key, yield* valueOf(text, member, depth)]);
    }
  }
  return Object.fromEntries(all);
}

/** @throws {SyntaxError} the text is no member */
function longMember(text: Buffer, member: Slice): LongMember {
  const colon = text.indexOf(COLON, endOfText(text, text.indexOf(QUOTE, member.start), member.end));
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
const OPEN_BRACE = 0x7b;
const COLON = 0x3a;
const QUOTE = 0x22;
