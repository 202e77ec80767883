import assert from "node:assert/strict";
import { until } from "@mainspring/server/testing";
import type { Built } from "../image.ts";
import type { Machine } from "../machine.ts";
import { connectInside } from "./lan.ts";

/** A container of the image, as a Compose file or a pod describes it. */
export interface ContainerSpec {
  name: string;
  address: string;
  /** Arguments of the entrypoint; null: those of the image. */
  args: readonly string[] | null;
  env: Readonly<Record<string, string>>;
  /** Secrets by their paths in the container, which lie below /run/secrets. */
  secrets: Readonly<Record<string, string>>;
  /** Mode of the secrets' files, which belong to root and the group of the image's user. */
  secretMode: string;
  /** Time from SIGTERM to SIGKILL, in milliseconds. */
  graceMs: number;
}

/**
 * A process that runs as a container of the image would: as its user without rights, on a root that it cannot write, with a network, a
 * `/tmp`, a `/data` and secrets of its own. Processes of other containers are visible to it, because all share the machine.
 */
export class Container {
  readonly spec: ContainerSpec;
  readonly #machine: Machine;
  readonly #built: Built;

  private constructor(machine: Machine, built: Built, spec: ContainerSpec) {
    this.spec = spec;
    this.#machine = machine;
    this.#built = built;
  }

  /** Makes a container that does not run yet. @param hosts its /etc/hosts */
  static async create(machine: Machine, built: Built, spec: ContainerSpec, hosts: string): Promise<Container> {
    const container = new Container(machine, built, spec);
    const [uid, gid] = built.user.split(":");
    await connectInside(machine, spec.name, spec.address);
    await machine.write(`/etc/netns/${spec.name}/hosts`, hosts);
    const folder = container.#folder;
    await machine.run(
      `install --directory --owner ${uid} --group ${gid} --mode 700 ${folder}/data; mkdir -p ${folder}/secrets /run/secrets`,
    );
    for (const [path, text] of Object.entries(spec.secrets)) {
      assert.ok(path.startsWith("/run/secrets/"), path);
      const file = path.replace("/run/secrets", `${folder}/secrets`);
      await machine.write(file, text, { mode: spec.secretMode, owner: `root:${gid}` });
    }
    const program = [...built.entrypoint, ...(spec.args ?? built.command)];
    await machine.write(`${folder}/program.sh`, container.#inside(program));
    return container;
  }

  /** Starts the program, and does not wait until it is ready. */
  async start(): Promise<void> {
    const { name } = this.spec;
    const folder = this.#folder;
    const isolated = `ip netns exec ${name} unshare --mount bash ${folder}/program.sh`;
    const watched = `${isolated} >>${folder}/log 2>&1 & echo $! >${folder}/pid; wait $!; echo $? >${folder}/code`;
    await this.#machine.run(
      `rm -f ${folder}/code ${folder}/pid; setsid bash -c ${quoted(watched)} </dev/null >/dev/null 2>&1 &`,
    );
    await until(() =>
      this.#machine.run(`test -s ${folder}/pid && echo yes || true`).then((text) => text.includes("yes")),
    );
  }

  /** Runs a command beside the program, as `docker exec` does. @throws it failed */
  async execute(argv: readonly string[]): Promise<string> {
    await this.#machine.write(`${this.#folder}/command.sh`, this.#inside(argv));
    return this.#machine.run(`ip netns exec ${this.spec.name} unshare --mount bash ${this.#folder}/command.sh`);
  }

  /** Sends SIGTERM. @throws the program did not end with 0 within its time */
  async stop(): Promise<void> {
    const { name, graceMs } = this.spec;
    const fromMs = performance.now();
    await this.#signal("TERM");
    await until(async () => {
      if (performance.now() - fromMs <= graceMs) return (await this.code()) !== null;
      await this.kill();
      throw new Error(`${name} did not stop within ${graceMs} ms`);
    });
    assert.equal(await this.code(), 0, `${name} stopped by itself: ${await this.log()}`);
  }

  async kill(): Promise<void> {
    await this.#signal("KILL");
    await until(async () => (await this.code()) !== null);
  }

  /** Exit code of the program; null: it runs. */
  async code(): Promise<number | null> {
    const text = (await this.#machine.run(`cat ${this.#folder}/code 2>/dev/null || true`)).trim();
    return text === "" ? null : Number(text);
  }

  /** Last lines that the program has printed. */
  async log(): Promise<string> {
    return this.#machine.run(`tail --lines 20 ${this.#folder}/log`);
  }

  /** The user of the program, and whether its root is read-only, as the kernel says. */
  async confinement(): Promise<string> {
    return this.#machine.run(
      `pid=$(cat ${this.#folder}/pid); grep ' / / ro' /proc/$pid/mountinfo >/dev/null && echo read-only; stat --format=%u:%g /proc/$pid; grep -E 'CapBnd|NoNewPrivs' /proc/$pid/status`,
    );
  }

  get #folder(): string {
    return `/var/tmp/containers/${this.spec.name}`;
  }

  #signal(name: string): Promise<string> {
    return this.#machine.run(`kill -${name} $(cat ${this.#folder}/pid)`);
  }

  /** Script that becomes the program, in a mount namespace of its own. */
  #inside(argv: readonly string[]): string {
    const [uid, gid] = this.#built.user.split(":");
    const env = Object.entries({ PATH: "/usr/local/bin:/usr/bin:/bin", ...this.#built.env, ...this.spec.env });
    return [
      "set -eu",
      `mount --bind ${this.#folder}/secrets /run/secrets`,
      `mount --bind ${this.#folder}/data /data`,
      "mount -t tmpfs -o mode=1777,size=64m tmpfs /tmp",
      "mount -o remount,bind,ro /",
      `cd ${this.#built.cwd}`,
      `exec setpriv --reuid=${uid} --regid=${gid} --clear-groups --no-new-privs --bounding-set=-all \\`,
      `  env --ignore-environment ${env.map(([name, value]) => quoted(`${name}=${value}`)).join(" ")} ${argv.map(quoted).join(" ")}`,
      "",
    ].join("\n");
  }
}

/** A word of a shell. */
function quoted(word: string): string {
  return `'${word.replaceAll("'", String.raw`'\''`)}'`;
}
