import { FROM_REPOSITORY, isPublishedDoor, WITH_COMMONJS } from "./published.ts";

/** Fields of a package.json that are read, and those that are written. */
export interface Manifest {
  name: string;
  version: string;
  private?: boolean;
  bin?: Record<string, string>;
  /** Each leads to a file in src. */
  exports: Record<string, string>;
  /** Folders that are published beside the compiled code. */
  files?: string[];
  [field: string]: unknown;
}

/** An export of a published package: files without the ending `.js` or `.d.ts`. */
export interface Door {
  name: string;
  /** Path below `dist`, without its ending, as `time/index`. */
  stem: string;
}

/** The fields that mean the same to those who install it. Neither scripts nor devDependencies do. */
const KEPT = [
  ...["name", "version", "description", "keywords", "license", "repository", "type", "engines", "bin"],
  ...["dependencies", "optionalDependencies", "peerDependencies", "peerDependenciesMeta"],
];

/**
 * The package.json to publish: its exports lead to the compiled code. Dependencies stay as they are: ours on each other
 * name exact versions too.
 * @throws for a package that is not for publication
 */
export function publishedManifest(source: Manifest): Record<string, unknown> {
  if (source.private === true) throw new Error(`${source.name} is private: it is not for publication`);
  const kept = Object.fromEntries(Object.entries(source).filter(([field]) => KEPT.includes(field)));
  const exports = publishedDoors(source).map(([door, file]) => [door, conditions(source, file)]);
  return {
    ...kept,
    ...fieldsForOldResolvers(source),
    exports: { ...Object.fromEntries(exports), "./package.json": "./package.json" },
    files: [
      "dist",
      ...(source.bin === undefined ? [] : ["bin"]),
      ...(source.files ?? []),
      ...(FROM_REPOSITORY[folderOf(source)] ?? []),
    ],
  };
}

/** Whether a package has a CommonJS build. */
export function hasCommonJs(source: Manifest): boolean {
  return WITH_COMMONJS.includes(folderOf(source));
}

const folderOf = ({ name }: Manifest) => name.replace("@mainspring/", "");

/** The exports of a package that are code. */
export function codeDoors(source: Manifest): Door[] {
  return publishedDoors(source).flatMap(([name, file]) => {
    const stem = stemOf(file);
    return stem === null ? [] : [{ name, stem }];
  });
}

function publishedDoors(source: Manifest): [string, string][] {
  return Object.entries(source.exports).filter(([door]) => isPublishedDoor(source.name, door));
}

function conditions(source: Manifest, file: string): unknown {
  const stem = stemOf(file);
  if (stem === null) return dataFile(source.name, file);
  // In this order: the first condition that holds is taken, and `default` always holds.
  const filesIn = (folder: string) => ({ types: `./${folder}/${stem}.d.ts`, default: `./${folder}/${stem}.js` });
  return hasCommonJs(source) ? { import: filesIn("dist/esm"), require: filesIn("dist/cjs") } : filesIn("dist");
}

/** Resolvers that do not read `exports`, such as that of TypeScript with `moduleResolution: node10`, read these. */
function fieldsForOldResolvers(source: Manifest): object {
  const stem = stemOf(source.exports["."] ?? "");
  if (stem === null) return {};
  const folder = hasCommonJs(source) ? "dist/cjs" : "dist";
  return { main: `./${folder}/${stem}.js`, types: `./${folder}/${stem}.d.ts` };
}

const stemOf = (file: string) => /^[.]\/src\/(.+)[.]ts$/.exec(file)?.[1] ?? null;

function dataFile(name: string, file: string): string {
  const path = /^[.]\/src\/(.+[.]json)$/.exec(file)?.[1];
  if (path === undefined) throw new Error(`${name} exports ${file}, which is neither ./src/….ts nor ./src/….json`);
  return `./dist/${path}`;
}
