import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { TABLES } from "./tables.ts";

const FOLDER = join(import.meta.dirname, "../../docs");
const MADE = /(<!-- begin: [^>]*-->\n)[^]*?(<!-- end -->)/;

/** A page of docs as it is, and as it should be: with its generated part, and everything else unchanged. */
export interface Page {
  /** Path below docs. */
  name: string;
  is: string;
  shouldBe: string;
}

export async function pages(): Promise<Page[]> {
  return await Promise.all(Object.entries(TABLES).map(([name, make]) => pageOf(name, make)));
}

async function pageOf(name: string, make: () => string | Promise<string>): Promise<Page> {
  const is = readFileSync(join(FOLDER, name), "utf8");
  if (!MADE.test(is)) throw new Error(`${name} has no place for its table: <!-- begin: … --> and <!-- end -->`);
  const made = await make();
  return { name, is, shouldBe: is.replace(MADE, (_, begin, end) => `${begin}\n${made}\n\n${end}`) };
}

export function write({ name, shouldBe }: Page): void {
  writeFileSync(join(FOLDER, name), shouldBe);
}
