import { readFile, writeFile } from "node:fs/promises";
import { FORMAT, type Measured } from "./measured.ts";
import { merged } from "./merge.ts";

export async function writeJson(file: string, measured: Measured): Promise<void> {
  await writeFile(file, `${JSON.stringify(measured, null, 2)}\n`);
}

/** Measurements of several runs, merged. */
export async function readAll(files: readonly string[]): Promise<Measured> {
  return merged(await Promise.all(files.map(readOne)));
}

async function readOne(file: string): Promise<Measured> {
  const measured = parsed(await readFile(file, "utf8"));
  if (measured?.format === FORMAT) return measured as Measured;
  throw new Error(`${file} is not what --json writes (${FORMAT}), or an older benchmark wrote it`);
}

function parsed(text: string): Partial<Measured> | null {
  try {
    return JSON.parse(text) as Partial<Measured> | null;
  } catch {
    return null;
  }
}
