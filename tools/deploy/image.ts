import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import process from "node:process";
import { argvOf, type Instruction, readDockerfile, variablesOf } from "./dockerfile.ts";
import { Machine } from "./machine.ts";

const ROOT = resolve(import.meta.dirname, "../..");
const KEY = "a-key-for-the-trial-of-the-image";
/** State of a build after some instructions. At the end it is the configuration of the image. */
export interface Built {
  env: Record<string, string>;
  cwd: string;
  /** Ids of user and group, as "10001:10001". */
  user: string;
  health: string[];
  entrypoint: string[];
  command: string[];
}
const nothingYet = (): Built => ({ env: {}, cwd: "/", user: "0:0", health: [], entrypoint: [], command: [] });

/**
 * Runs the instructions of deploy/docker/Dockerfile in a machine of its own, which stands for the base image, and then what they define, as
 * their user and on a read-only root: a server that refuses to listen without a key, one that runs a job, its health check, and its stop.
 * @throws an instruction failed, or the server did not do what the page says
 */
export async function tryImage(): Promise<void> {
  const { machine, built } = await buildImage();
  try {
    await tryServer(machine, built);
  } finally {
    await machine.stop();
  }
}

/** Runs the instructions of deploy/docker/Dockerfile. @returns the machine that has the image's files, and the image's configuration */
export async function buildImage(): Promise<{ machine: Machine; built: Built }> {
  const context = mkdtempSync("/var/tmp/mainspring-image-");
  const files = execFileSync(
    "git",
    ["ls-files", "--", ...contextOf(readFileSync(join(ROOT, ".dockerignore"), "utf8"))],
    { cwd: ROOT, encoding: "utf8" },
  )
    .trim()
    .split("\n");
  for (const file of files.filter((name) => !name.endsWith(".test.ts"))) cpSync(join(ROOT, file), join(context, file));
  cpSync(process.execPath, join(context, "node"));
  const machine = await Machine.bare();
  try {
    // The base image has Node there; the rest of it is this machine's Debian.
    await machine.run(`cp ${context}/node /usr/local/bin/node`);
    const built = await build(machine, context);
    console.log(await machine.run("du --summarize --human-readable /app"));
    return { machine, built };
  } catch (error) {
    await machine.stop();
    throw error;
  } finally {
    rmSync(context, { recursive: true });
  }
}

/** Files and folders that .dockerignore leaves to a build. */
function contextOf(dockerignore: string): string[] {
  return Array.from(dockerignore.matchAll(/^!(.+)$/gm), ([, path = ""]) => path);
}

async function build(machine: Machine, context: string): Promise<Built> {
  let built = nothingYet();
  const stages = readDockerfile(readFileSync(join(ROOT, "deploy/docker/Dockerfile"), "utf8"));
  for (const { instructions } of stages) {
    built = nothingYet();
    for (const instruction of instructions) {
      console.log(`${instruction.name} ${instruction.text}`);
      await apply(machine, context, built, instruction);
    }
  }
  return built;
}

async function apply(machine: Machine, context: string, built: Built, { name, text }: Instruction): Promise<void> {
  if (name === "WORKDIR") {
    built.cwd = text;
    await machine.run(`mkdir -p ${text}`);
  } else if (name === "ENV") Object.assign(built.env, variablesOf(text));
  else if (name === "USER") built.user = text;
  else if (name === "HEALTHCHECK") built.health = argvOf(text.slice(text.indexOf("CMD") + 3).trim());
  else if (name === "ENTRYPOINT") built.entrypoint = argvOf(text);
  else if (name === "CMD") built.command = argvOf(text);
  else if (name === "RUN") await machine.run(text, { cwd: built.cwd, onNetworkOfHost: true, env: built.env });
  // Both stages are one machine, so the folder that COPY takes from the first one is there.
  else if (name === "COPY" && !text.startsWith("--from=")) await copy(machine, context, built.cwd, text.split(" "));
  else assert.ok(["COPY", "VOLUME", "EXPOSE"].includes(name), `no trial knows ${name}`);
}

async function copy(machine: Machine, context: string, cwd: string, paths: readonly string[]): Promise<void> {
  const [to = "", ...from] = paths.toReversed();
  for (const path of from) await machine.run(`cp --recursive ${join(context, path)} ${to}`, { cwd });
}

async function tryServer(machine: Machine, built: Built): Promise<void> {
  const [uid, gid] = built.user.split(":");
  const program = [...built.entrypoint, ...built.command];
  // A read-only root, a tmpfs, and the volume, as `docker run --read-only --tmpfs /tmp` has them.
  const root = "mount --bind /var/tmp/data /data && mount -t tmpfs tmpfs /tmp && mount -o remount,bind,ro /";
  const asUser = `setpriv --reuid=${uid} --regid=${gid} --clear-groups --no-new-privs --bounding-set=-all`;
  const container = (argv: readonly string[]) =>
    `unshare --mount bash -c '${root} && cd /data && exec ${asUser} ${argv.map((word) => JSON.stringify(word)).join(" ")}'`;
  await machine.run(`install --directory --owner ${uid} --group ${gid} --mode 700 /var/tmp/data`);

  const keyless = await machine.run(`${container(program)} 2>&1 || echo "code $?"`, { env: built.env });
  assert.match(keyless, /code 78/, keyless);
  console.log(keyless);

  const env = { ...built.env, MAINSPRING_API_KEY: KEY, MAINSPRING_TLS: "proxy" };
  const served = await machine.run(
    `${container(program)} >/var/tmp/server.log 2>&1 & server=$!
     until grep --quiet "Mainspring is ready" /var/tmp/server.log; do kill -0 $server || { cat /var/tmp/server.log; exit 1; }; sleep 0.2; done
     ${container(built.health)} && echo healthy
     mainspring submit echo --payload '{"from": "the image"}' --wait
     grep --quiet ' / / ro' /proc/$server/mountinfo && echo "read-only root"
     stat --format='runs as %u:%g' /proc/$server
     kill -TERM $server; wait $server && echo stopped`,
    { env },
  );
  console.log(served);
  for (const sign of ["healthy", "state      SUCCEEDED", "read-only root", `runs as ${built.user}`, "stopped"])
    assert.ok(served.includes(sign), sign);
}
