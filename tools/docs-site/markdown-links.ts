import { anchorOf } from "../reference/markdown.ts";

/** A link or a picture of a Markdown page. */
export interface Link {
  /** Line of the page, from 1. */
  line: number;
  target: string;
  isPicture: boolean;
}

/** Code within a line, a picture, or the end of a link with its target. */
const PARTS = /(`+)[^`]+\1|(!\[[^\]]*\]\()([^)\s]+)\)|\]\(([^)\s]+)\)/g;

/** Replaces the targets of all links and pictures outside code. */
export function withTargets(markdown: string, replace: (link: Link) => string): string {
  return mapProse(markdown, (text, line) => {
    return text.replace(PARTS, (whole: string, code?: string, picture?: string, source?: string, target?: string) => {
      if (code !== undefined) return whole;
      if (picture !== undefined) return `${picture}${replace({ line, target: source ?? "", isPicture: true })})`;
      return `](${replace({ line, target: target ?? "", isPicture: false })})`;
    });
  });
}

/** The links and pictures of a page, outside code. */
export function linksOf(markdown: string): Link[] {
  const links: Link[] = [];
  withTargets(markdown, (link) => {
    links.push(link);
    return link.target;
  });
  return links;
}

/** Anchors of the headings of a page, as hosts of repositories make them: a repeated one gets a number. */
export function anchorsOf(markdown: string): string[] {
  const anchors: string[] = [];
  const counts = new Map<string, number>();
  mapProse(markdown, (text) => {
    const [, heading] = /^#{1,6} +(.+)$/.exec(text) ?? [];
    if (heading === undefined) return text;
    const plain = heading.replace(/\[([^\]]*)\]\([^)]*\)/g, "$1").replace(/[`*]/g, "");
    const anchor = anchorOf(plain.trim());
    const before = counts.get(anchor) ?? 0;
    counts.set(anchor, before + 1);
    anchors.push(before === 0 ? anchor : `${anchor}-${before}`);
    return text;
  });
  return anchors;
}

/** Text of the first heading of a page, without code marks. */
export function titleOf(markdown: string): string | null {
  return /^# +(.+)$/m.exec(markdown)?.[1]?.replace(/`/g, "") ?? null;
}

/** Replaces the lines of a page that are not in a fenced block. */
export function mapProse(markdown: string, change: (text: string, line: number) => string): string {
  let fence: string | null = null;
  const lines = markdown.split("\n").map((text, index) => {
    const mark = /^\s*(```+|~~~+)/.exec(text)?.[1];
    if (fence !== null) {
      if (mark !== undefined && mark.startsWith(fence)) fence = null;
      return text;
    }
    if (mark !== undefined) {
      fence = mark;
      return text;
    }
    return change(text, index + 1);
  });
  return lines.join("\n");
}
