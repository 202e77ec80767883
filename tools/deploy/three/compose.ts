import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { parse } from "yaml";
import type { ContainerSpec } from "./container.ts";

/** Folder of the files for Docker. */
export const DOCKER = resolve(import.meta.dirname, "../../../deploy/docker");

/** A service of a Compose file, as far as the trials read it. */
interface Service {
  image: string;
  profiles?: string[];
  command?: string[];
  secrets?: string[];
  environment?: Record<string, string>;
  volumes?: string[];
  stop_grace_period?: string;
}
interface Compose {
  services: Record<string, Service>;
  secrets: Record<string, { file: string }>;
}

/** deploy/docker/compose.yaml, with its anchors put in. */
export function readCompose(): Compose {
  return parse(readFileSync(join(DOCKER, "compose.yaml"), "utf8"), { merge: true }) as Compose;
}

/** Name of the worker's service in the profile `three`. */
const WORKER = "worker";
/** Pool of that worker. */
export const WORKER_POOL = "reports";

/**
 * The three nodes of the profile `three`, and its worker, with what the file says.
 * @param secretText text of a file of secrets, from the path that the Compose file gives
 * @param addressOf address of the service with a number from 1
 */
export function containersOfThree(
  { services, secrets }: Compose,
  secretText: (file: string) => string,
  addressOf: (number: number) => string,
): ContainerSpec[] {
  return ["node-1", "node-2", "node-3", WORKER].map((name, index) => {
    const { command, environment = {}, stop_grace_period: grace = "10s", ...service } = services[name] as Service;
    const texts = (service.secrets ?? []).map((secret) => {
      return [`/run/secrets/${secret}`, secretText(secrets[secret]?.file ?? "")] as const;
    });
    return {
      ...{ name, address: addressOf(index + 1), args: command ?? null, env: environment },
      secrets: Object.fromEntries(texts),
      // Docker mounts the files as they are, and `secrets.sh` lets everybody read them.
      secretMode: "444",
      graceMs: Number(/^(\d+)s$/.exec(grace)?.[1]) * 1_000,
    };
  });
}
