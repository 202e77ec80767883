/** Part of a package-lock.json that this program reads and writes. */
export interface Lockfile {
  packages: Record<string, LockedPackage>;
}

export interface LockedPackage {
  version?: string;
  dev?: boolean;
  optional?: boolean;
  os?: string[];
  cpu?: string[];
  libc?: string[];
  optionalDependencies?: Record<string, string>;
}

export interface Gap {
  name: string;
  version: string;
  dev: boolean;
}

/** Parts of names of platform packages, and their meanings. */
const OS: Record<string, string> = {
  android: "android",
  darwin: "darwin",
  freebsd: "freebsd",
  linux: "linux",
  openharmony: "openharmony",
  win32: "win32",
  windows: "win32",
};
const CPU: Record<string, string> = {
  arm: "arm",
  armv7: "arm",
  arm64: "arm64",
  ia32: "ia32",
  ppc64: "ppc64",
  riscv64: "riscv64",
  s390x: "s390x",
  x64: "x64",
};

/** Optional dependencies of packages that the lockfile lacks. */
export function gapsOf({ packages }: Lockfile): Gap[] {
  const gaps = new Map<string, Gap>();
  for (const [path, locked] of Object.entries(packages)) {
    for (const [name, version] of Object.entries(locked.optionalDependencies ?? {})) {
      if (!isLocked(packages, path, name)) gaps.set(name, { name, version, dev: locked.dev === true });
    }
  }
  return [...gaps.values()];
}

/**
 * Placeholder for a package of another platform until a machine of that platform installs it: enough for npm to see
 * that it is for another platform. It has no integrity, because the package is not available.
 */
export function entryFor({ name, version, dev }: Gap): LockedPackage {
  const parts = name.slice(name.lastIndexOf("/") + 1).split("-");
  const os = parts.map((part) => OS[part]).find((known) => known !== undefined);
  const cpu = parts.map((part) => CPU[part]).find((known) => known !== undefined);
  if (os === undefined || cpu === undefined) throw new Error(`${name}: cannot tell its platform from its name`);
  const libc = os === "linux" ? libcOf(parts) : null;
  return { version, cpu: [cpu], ...(dev && { dev }), ...(libc && { libc: [libc] }), optional: true, os: [os] };
}

/** Searches as Node does: beside the package that needs it, and upwards. */
function isLocked(packages: Lockfile["packages"], from: string, name: string): boolean {
  for (let folder = from; ; folder = folder.slice(0, Math.max(0, folder.lastIndexOf("/node_modules/")))) {
    if (packages[`${folder === "" ? "" : `${folder}/`}node_modules/${name}`] !== undefined) return true;
    if (folder === "") return false;
  }
}

function libcOf(parts: string[]): string | null {
  if (parts.some((part) => part.startsWith("musl"))) return "musl";
  return parts.some((part) => part.startsWith("gnu")) ? "glibc" : null;
}
