import { readFile, writeFile } from "node:fs/promises";
import { FORMAT, type Measured } from "./measured.ts";
import { merged } from "./merge.ts";

export async function writeJson(file: string, measured: Measured): Promise<void> {
  await writeFile(file, `${JSON.stringify(measured, null, 2)}\n`);
}

/** What several sessions wrote, as one. */
export async function readAll(files: readonly string[]): Promise<Measured> {
  return merged(await Promise.all(files.map(readOne)));
}

async function readOne(file: string): Promise<Measured> {
  const measured = JSON.parse(await readFile(file, "utf8")) as Partial<Measured>;
  if (measured.format !== FORMAT) throw new Error(`${file} is not of this benchmark, or of an older one: ${FORMAT} is`);
  return measured as Measured;
}
