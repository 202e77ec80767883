import { execFileSync } from "node:child_process";
import { mkdtempSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { addPerson, type Person, removePerson, startAs } from "./fresh-clone/person.ts";
import { tryServer } from "./fresh-clone/try-server.ts";

/**
 * Follows the README as a user does who has just cloned HEAD: runs both commands in a new folder with a nearly empty
 * environment; as root also as a normal user that is created for the test. Exits with 1 if a step fails.
 */

const READY_NEW_MS_MAX = 5_000;
const READY_OLD_MS_MAX = 2_000;
/** Settings that leave a server on the usual ports of this machine undisturbed. */
const FREE_PORTS = { MAINSPRING_HTTP: "127.0.0.1:0", MAINSPRING_GRPC: "127.0.0.1:0" };

const { username, homedir } = userInfo();
await visit({ name: username, home: homedir, isSomebodyElse: false }).catch(report);
if (process.getuid?.() === 0) await asGuest(visit).catch(report);

function report(error: unknown): void {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}

async function asGuest(act: (guest: Person) => Promise<void>): Promise<void> {
  const guest = addPerson("mainspring-guest");
  try {
    await act(guest);
  } finally {
    removePerson(guest);
  }
}

async function visit(person: Person): Promise<void> {
  // Root's own clone goes to a folder that no other user can read, as it would under /root.
  const folder = mkdtempSync(join(person.isSomebodyElse ? person.home : tmpdir(), "mainspring-clone-"));
  const clone = join(folder, "mainspring");
  try {
    execFileSync("git", ["clone", "--quiet", process.cwd(), clone]);
    if (person.isSomebodyElse) execFileSync("chown", ["-R", `${person.name}:`, folder]);
    await runCommand(person, clone, ["npm", "ci"]);
    await runServer(person, clone, READY_NEW_MS_MAX, "a new data folder");
    await runServer(person, clone, READY_OLD_MS_MAX, "an old data folder");
    await runCommand(person, clone, ["npm", "test"]);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function runCommand(person: Person, cwd: string, command: string[]): Promise<void> {
  const begunMs = performance.now();
  const { done, output } = startAs(person, cwd, command);
  const exitCode = await done;
  const text = output().trim();
  say(person, `${command.join(" ")} took ${seconds(performance.now() - begunMs)}, exit code ${exitCode}`);
  const summary = text.match(/^ℹ (tests|pass|fail|skipped|todo) \d+$/gm);
  if (exitCode !== 0) throw new Error(text);
  console.log((summary?.join("\n") ?? text).replace(/^/gm, "    "));
}

async function runServer(person: Person, cwd: string, readyMsMax: number, where: string): Promise<void> {
  const { readyMs, jobMs } = await tryServer(startAs(person, cwd, ["npm", "start"], FREE_PORTS));
  say(person, `npm start on ${where}: ready after ${seconds(readyMs)}, a first job ${seconds(jobMs)} later`);
  if (readyMs > readyMsMax)
    throw new Error(`ready after ${seconds(readyMs)}, which should take ${seconds(readyMsMax)}`);
}

function say(person: Person, text: string): void {
  console.log(`${person.name}: ${text}`);
}

function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(1)} s`;
}
