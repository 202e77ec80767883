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

/** The fields that mean the same to those who install it. Neither scripts nor devDependencies do. */
const KEPT = [
  ...["name", "version", "description", "license", "type", "engines"],
  ...["dependencies", "optionalDependencies", "peerDependencies", "peerDependenciesMeta"],
];

/**
 * The package.json to publish: its exports lead to the compiled code. Dependencies stay as they are: ours on each other
 * name exact versions too.
 * @throws for a package that is not a library to publish
 */
export function publishedManifest(source: Manifest): Record<string, unknown> {
  if (source.private === true) throw new Error(`${source.name} is private: it is not for publication`);
  if (source.bin !== undefined) throw new Error(`${source.name} has a "bin", and only libraries can be packed so far`);
  const kept = Object.fromEntries(Object.entries(source).filter(([field]) => KEPT.includes(field)));
  const exports = Object.entries(source.exports).map(([door, file]) => [door, compiledDoor(source.name, file)]);
  return { ...kept, exports: Object.fromEntries(exports), files: ["dist", ...(source.files ?? [])] };
}

function compiledDoor(name: string, file: string): { types: string; default: string } {
  const stem = /^[.]\/src\/(.+)[.]ts$/.exec(file)?.[1];
  if (stem === undefined) throw new Error(`${name} exports ${file}, which is no ./src/….ts`);
  // In this order: the first condition that holds is taken, and `default` always holds.
  return { types: `./dist/${stem}.d.ts`, default: `./dist/${stem}.js` };
}
