import { type ChildProcess, execFileSync, spawn } from "node:child_process";

/** User who sets the server up. */
export interface Person {
  name: string;
  home: string;
  /** Root acts for them. */
  isSomebodyElse: boolean;
}

export interface Running {
  child: ChildProcess;
  /** All that it has printed so far. */
  output(): string;
  /** The exit code; null: ended by a signal. */
  done: Promise<number | null>;
}

/** Kept of the environment: the way to npm's packages. All else could help without anybody noticing. */
const KEPT = /^(https?_proxy|no_proxy|NODE_EXTRA_CA_CERTS|SSL_CERT_(FILE|DIR)|npm_config_registry)$/i;

/** @param extra set on top of the nearly empty environment */
export function startAs(person: Person, cwd: string, command: string[], extra: Record<string, string> = {}): Running {
  const env = { ...minimalEnvironment(person), ...extra };
  const argv = person.isSomebodyElse ? ["runuser", "-u", person.name, "--", ...command] : command;
  const [program = "", ...args] = argv;
  // A process group of its own, so that a signal reaches all of it, as Ctrl-C does.
  const child = spawn(program, args, { cwd, env, detached: true, stdio: ["ignore", "pipe", "pipe"] });
  let text = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk: Buffer) => (text += chunk.toString()));
  const done = new Promise<number | null>((resolve, reject) => child.on("error", reject).on("close", resolve));
  return { child, output: () => text, done };
}

/** Makes a user that this machine does not have yet. */
export function addPerson(name: string): Person {
  execFileSync("useradd", ["--create-home", name]);
  const home = execFileSync("getent", ["passwd", name]).toString().split(":")[5] ?? "";
  return { name, home, isSomebodyElse: true };
}

export function removePerson({ name }: Person): void {
  execFileSync("userdel", ["--remove", name], { stdio: "ignore" });
}

function minimalEnvironment({ name, home }: Person): Record<string, string> {
  const kept = Object.entries(process.env).filter(([key]) => KEPT.test(key)) as [string, string][];
  return { ...Object.fromEntries(kept), HOME: home, USER: name, PATH: systemPath(), LANG: "C.UTF-8" };
}

/** Without node_modules/.bin, which `npm run` puts in front. */
function systemPath(): string {
  const folders = (process.env["PATH"] ?? "").split(":");
  return folders.filter((folder) => !folder.includes("node_modules")).join(":");
}
