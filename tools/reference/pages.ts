import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { TABLES } from "./tables.ts";

const FOLDER = join(import.meta.dirname, "../../docs/reference");
const MADE = /(<!-- begin: [^>]*-->\n)[^]*?(<!-- end -->)/;

/** A page of docs/reference as it is, and as it should be: its table anew, everything else as it was written. */
export interface Page {
  name: string;
  is: string;
  shouldBe: string;
}

export function pages(): Page[] {
  return Object.entries(TABLES).map(([name, make]) => {
    const is = readFileSync(join(FOLDER, name), "utf8");
    if (!MADE.test(is)) throw new Error(`${name} has no place for its table: <!-- begin: … --> and <!-- end -->`);
    return { name, is, shouldBe: is.replace(MADE, (_, begin, end) => `${begin}\n${make()}\n\n${end}`) };
  });
}

export function write({ name, shouldBe }: Page): void {
  writeFileSync(join(FOLDER, name), shouldBe);
}
