import { execFile } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Machine } from "../machine.ts";

const run = promisify(execFile);

/** Address of this process in the network: the store is there, and the judge asks from there. */
export const OWN_ADDRESS = "10.77.0.254";
const PREFIX = 24;
const BRIDGE = "bridge0";

/** Address of the host with a number from 1 to 99. */
export const addressOf = (number: number) => `10.77.0.${number}`;

/** Makes this process' network namespace, which must be a new one, a network that machines can be connected to. */
export async function makeLan(): Promise<void> {
  for (const command of [
    "link set lo up",
    `link add ${BRIDGE} type bridge`,
    `addr add ${OWN_ADDRESS}/${PREFIX} dev ${BRIDGE}`,
    `link set ${BRIDGE} up`,
  ])
    await ip(command);
}

/** Gives this process the names of hosts, which must have a mount namespace of its own. @returns the text of the file */
export async function nameHosts(folder: string, names: ReadonlyMap<string, string>): Promise<string> {
  const lines = ["127.0.0.1 localhost", ...Array.from(names, ([name, address]) => `${address} ${name}`), ""];
  const file = join(folder, "hosts");
  await writeFile(file, lines.join("\n"));
  await run("mount", ["--bind", file, "/etc/hosts"]);
  return lines.join("\n");
}

/**
 * Connects a machine to the network.
 * @param address address of the machine; null: it gets a bridge, to which `connectInside` connects hosts in it
 */
export async function connect(machine: Machine, address: string | null): Promise<void> {
  const link = `m${machine.pid}`;
  await ip(`link add ${link} type veth peer name eth0 netns ${machine.pid}`);
  await ip(`link set ${link} master ${BRIDGE} up`);
  if (address !== null) await machine.run(`ip addr add ${address}/${PREFIX} dev eth0; ip link set eth0 up`);
  else
    await machine.run(
      `ip link add ${BRIDGE} type bridge; ip link set eth0 master ${BRIDGE} up; ip link set ${BRIDGE} up`,
    );
}

/** Makes a network namespace in a machine that `connect` gave a bridge, and connects it. `ip netns exec NAME` enters it. */
export async function connectInside(machine: Machine, name: string, address: string): Promise<void> {
  const link = `c${address.split(".").at(-1)}`;
  await machine.run(
    [
      `ip netns add ${name}`,
      `ip link add ${link} type veth peer name eth0 netns ${name}`,
      `ip link set ${link} master ${BRIDGE} up`,
      `ip -n ${name} addr add ${address}/${PREFIX} dev eth0`,
      `ip -n ${name} link set eth0 up`,
      `ip -n ${name} link set lo up`,
    ].join("; "),
  );
}

async function ip(command: string): Promise<void> {
  await run("ip", command.split(" "));
}
