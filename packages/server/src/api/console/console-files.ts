import { readdir, readFile } from "node:fs/promises";
import { extname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { gzip } from "node:zlib";

/** Folder of the built console in this package, as `npm run build --workspace @mainspring/console` and releases fill it. */
const FOLDER = new URL("../../../console/", import.meta.url);
/** First page of the console. */
export const PAGE = "index.html";
/** Largest file, and largest number of files, that a server keeps in memory. */
const FILE_BYTES_MAX = 2 * 1024 * 1024;
const FILES_MAX = 100;

const TYPES: Readonly<Record<string, string>> = {
  ".css": "text/css; charset=utf-8",
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".md": "text/plain; charset=utf-8",
  ".svg": "image/svg+xml",
};

interface ConsoleFile {
  type: string;
  body: Buffer;
  /** Body for clients that accept gzip. */
  zipped: Buffer;
}

type Files = ReadonlyMap<string, ConsoleFile>;

/** Files of the built console, read at the first request and then kept in memory. */
export class ConsoleFiles {
  readonly #folder: string;
  #files: Promise<Files> | null = null;

  constructor(folder: URL = FOLDER) {
    this.#folder = fileURLToPath(folder);
  }

  /** @param path below the folder, with `/`. @returns null: there is no such file */
  async get(path: string): Promise<ConsoleFile | null> {
    this.#files ??= readFiles(this.#folder);
    const files = await this.#files;
    // The console may be built while the server runs.
    if (!files.has(PAGE)) this.#files = null;
    return files.get(path) ?? null;
  }
}

async function readFiles(folder: string): Promise<Files> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  const found = entries.filter((entry) => entry.isFile() && TYPES[extname(entry.name)] !== undefined);
  const files = new Map<string, ConsoleFile>();
  for (const { name, parentPath } of found.slice(0, FILES_MAX)) {
    const place = join(parentPath, name);
    const body = await readFile(place);
    if (body.length > FILE_BYTES_MAX) continue;
    const zipped = await promisify(gzip)(body, { level: 9 });
    files.set(relative(folder, place).replaceAll("\\", "/"), { type: TYPES[extname(name)] ?? "", body, zipped });
  }
  return files;
}
