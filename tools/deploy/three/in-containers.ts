import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { copyFileSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { until } from "@mainspring/server/testing";
import { authorityIn } from "../../services/certificates.ts";
import { renderedWith } from "../chart.ts";
import type { Built } from "../image.ts";
import type { Machine } from "../machine.ts";
import { containersOfThree, DOCKER, readCompose, WORKER_POOL } from "./compose.ts";
import { Container, type ContainerSpec } from "./container.ts";
import { type DeployedNode, judge, type Outcome } from "./judge.ts";
import { Kubelet } from "./kubelet.ts";
import { addressOf, nameHosts, OWN_ADDRESS } from "./lan.ts";
import { certificateOf, podsOf, type Secrets, serviceOf, VALUES } from "./pods.ts";
import { startStore } from "./store.ts";

/** The image's files, and its configuration. */
interface Image {
  machine: Machine;
  built: Built;
}

/** The nodes and the worker of the Compose file's profile `three`, each as a container of the image. */
export async function judgeCompose({ machine, built }: Image, folder: string, jobs: number): Promise<Outcome> {
  const compose = readCompose();
  copyFileSync(join(DOCKER, "secrets.sh"), join(folder, "secrets.sh"));
  execFileSync("sh", [join(folder, "secrets.sh")]);
  const secretText = (file: string) => readFileSync(join(folder, file), "utf8");
  const specs = containersOfThree(compose, secretText, (number) => addressOf(10 + number));
  const names = new Map([["postgres", OWN_ADDRESS], ...specs.map(({ name, address }) => [name, address] as const)]);
  const hosts = await nameHosts(folder, names);
  const store = await startStore(secretText(compose.secrets["postgres-password"]?.file ?? ""));
  const containers = await Promise.all(specs.map((spec) => Container.create(machine, built, spec, hosts)));
  try {
    const isHealthy = (container: Container) =>
      container.execute(built.health).then(
        () => true,
        () => false,
      );
    const start = async (container: Container) => {
      await container.start();
      await until(async () => (await isHealthy(container)) || (await failIfEnded(container)));
    };
    const [nodes, worker] = [containers.slice(0, 3), containers[3] as Container];
    await Promise.all(nodes.map(start));
    await worker.start();
    for (const node of nodes) await isConfined(node, built);
    const deployed = nodes.map((container): DeployedNode => {
      const { name } = container.spec;
      const url = `http://${name}:8080`;
      return { name, url, stop: () => container.stop(), kill: () => container.kill(), start: () => start(container) };
    });
    return await judge(deployed, { apiKey: secretText("./secrets/api-key"), jobs, pool: WORKER_POOL });
  } finally {
    for (const container of containers.toReversed()) if ((await container.code()) === null) await container.kill();
    await store.stop();
  }
}

/** The pods of the chart, as Helm renders them, each as a container of the image whose probes are asked as a kubelet does. */
export async function judgeChart({ machine, built }: Image, folder: string, jobs: number): Promise<Outcome> {
  const objects = await renderedWith(VALUES);
  const password = "a-password-of-the-trial";
  const secrets = await secretsOf(folder, certificateOf(objects), password);
  const nodes = podsOf(objects, "StatefulSet", secrets, (index) => addressOf(21 + index));
  const [worker] = podsOf(objects, "Deployment", secrets, () => addressOf(31));
  assert.ok(worker && nodes.length === 3);
  const service = [serviceOf(objects), nodes[0]?.spec.address ?? ""] as const;
  const pods = nodes.map(({ host, spec }) => [host, spec.address] as const);
  const hosts = await nameHosts(folder, new Map([["db.example", OWN_ADDRESS], service, ...pods]));
  const store = await startStore(password);
  const create = (spec: ContainerSpec) => Container.create(machine, built, spec, hosts);
  const containers = await Promise.all([...nodes, worker].map(({ spec }) => create(spec)));
  try {
    const deployed = nodes.map((pod, index): DeployedNode & { kubelet: Kubelet } => {
      const container = containers[index] as Container;
      const kubelet = new Kubelet(pod.host, pod.probes, pod.portOf);
      const start = async () => {
        await container.start();
        await kubelet.started(() => failIfEnded(container));
      };
      const stop = async () => {
        kubelet.stopping();
        await container.stop();
        const unreadyMs = kubelet.gone();
        assert.ok(unreadyMs !== null, `${pod.host} stopped before its readiness probe said so`);
      };
      const kill = async () => {
        kubelet.gone();
        await container.kill();
      };
      return { name: pod.spec.name, url: `https://${pod.host}:8080`, kubelet, start, stop, kill };
    });
    await Promise.all(deployed.map((node) => node.start()));
    await containers[3]?.start();
    for (const container of containers.slice(0, 3)) await isConfined(container, built);
    const outcome = await judge(deployed, { apiKey: secrets["mainspring"]?.["api-key"] ?? "", jobs, pool: "reports" });
    for (const { kubelet } of deployed) {
      kubelet.gone();
      assert.equal(kubelet.restarts, 0, "no liveness probe failed");
    }
    return outcome;
  } finally {
    for (const container of containers.toReversed()) if ((await container.code()) === null) await container.kill();
    await store.stop();
  }
}

/** Secrets as the page and cert-manager make them. */
async function secretsOf(
  folder: string,
  { secretName, names }: { secretName: string; names: string[] },
  password: string,
): Promise<Secrets> {
  const authority = authorityIn(folder, "ca");
  const { certFile, keyFile } = await authority.issue("pod", names);
  const text = (file: string) => readFileSync(file, "utf8");
  return {
    mainspring: {
      store: `postgres://mainspring:${password}@db.example:5432/mainspring`,
      "api-key": "a-key-for-the-trial-of-the-chart",
      "cluster-secret": "a-secret-for-the-trial-of-the-chart",
    },
    [secretName]: { "tls.crt": text(certFile), "tls.key": text(keyFile), "ca.crt": text(authority.certFile) },
  };
}

/** @returns false: the program runs. @throws it has ended */
async function failIfEnded(container: Container): Promise<false> {
  const code = await container.code();
  if (code === null) return false;
  throw new Error(`${container.spec.name} ended with ${code}:\n${await container.log()}`);
}

async function isConfined(container: Container, { user }: Built): Promise<void> {
  const said = await container.confinement();
  for (const sign of ["read-only", user, /CapBnd:\s+0+$/m, /NoNewPrivs:\s+1/])
    assert.ok(typeof sign === "string" ? said.includes(sign) : sign.test(said), said);
}
