import { mkdir } from "node:fs/promises";
import { join, resolve } from "node:path";
import { EmptyProject, type Ended } from "../pack/empty-project.ts";
import type { Page } from "./blocks.ts";
import { linkModules } from "./modules.ts";

const ROOT = resolve(import.meta.dirname, "../..");

/**
 * Compiles the `ts` blocks of all pages, each page in a folder of its own.
 * @param withPeers whether blocks of other systems (`peer`) are compiled, too; default: no
 * @returns end of the compiler
 */
export async function typeCheck(pages: readonly Page[], withPeers = false): Promise<Ended> {
  const project = await EmptyProject.make();
  try {
    await linkModules(project.folder, withPeers);
    const config = { extends: join(ROOT, "tsconfig.json"), include: ["**/*.ts"], exclude: ["node_modules"] };
    await project.write("tsconfig.json", JSON.stringify(config));
    for (const [index, { blocks }] of pages.entries()) {
      const folder = `page-${index + 1}`;
      await mkdir(join(project.folder, folder));
      for (const { kind, file, line, text, needsPeers } of blocks) {
        if (needsPeers && !withPeers) continue;
        // A file without imports is a module too, as in Node.
        if (kind === "ts") await project.write(join(folder, file ?? `line-${line}.ts`), `${text}\nexport {};\n`);
      }
    }
    return await project.run(process.execPath, [join(ROOT, "node_modules/typescript/bin/tsc"), "-p", "."]);
  } finally {
    await project.remove();
  }
}
