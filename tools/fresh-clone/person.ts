import { type ChildProcess, execFileSync, spawn } from "node:child_process";

/** User who sets the server up. */
export interface Person {
  name: string;
  home: string;
  /** Whether the user is another one than the present one, so that root acts in that user's name. */
  isSomebodyElse: boolean;
}

export interface Running {
  child: ChildProcess;
  /** All output so far. */
  output(): string;
  /** Exit code; null: a signal ended the process. */
  done: Promise<number | null>;
}

/**
 * Variables of the environment that are kept: the access to npm's packages. Others could help without being noticed.
 */
const KEPT = /^(https?_proxy|no_proxy|NODE_EXTRA_CA_CERTS|SSL_CERT_(FILE|DIR)|npm_config_registry)$/i;

/** @param extra variables in addition to the nearly empty environment */
export function startAs(person: Person, cwd: string, command: string[], extra: Record<string, string> = {}): Running {
  const env = { ...minimalEnvironment(person), ...extra };
  const argv = person.isSomebodyElse ? ["runuser", "-u", person.name, "--", ...command] : command;
  const [program = "", ...args] = argv;
  // The process group lets a signal reach all its processes, as Ctrl-C does.
  const child = spawn(program, args, { cwd, env, detached: true, stdio: ["ignore", "pipe", "pipe"] });
  let text = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk: Buffer) => (text += chunk.toString()));
  const done = new Promise<number | null>((resolve, reject) => child.on("error", reject).on("close", resolve));
  return { child, output: () => text, done };
}

/** Creates a user that this machine does not have yet. */
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

/** PATH without node_modules/.bin, which `npm run` puts in front. */
function systemPath(): string {
  const folders = (process.env["PATH"] ?? "").split(":");
  return folders.filter((folder) => !folder.includes("node_modules")).join(":");
}
