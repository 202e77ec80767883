import assert from "node:assert/strict";
import type { KubernetesObject } from "../chart.ts";
import type { ContainerSpec } from "./container.ts";
import type { Probes } from "./kubelet.ts";

/** Namespace into which the chart is rendered. */
const NAMESPACE = "jobs";

/** Values of a production form: certificates, and workers of a pool. */
export const VALUES = {
  nodes: { count: 3 },
  tls: { certManager: { enabled: true, issuer: { kind: "ClusterIssuer", name: "internal" } } },
  workers: { reports: { pool: "reports" } },
};

interface Variable {
  name: string;
  value?: string;
  valueFrom?: { fieldRef: { fieldPath: string } };
}
interface PodContainer extends Probes {
  args?: string[];
  env: Variable[];
  ports?: { name: string; containerPort: number }[];
  volumeMounts: { name: string; mountPath: string }[];
}
interface Volume {
  name: string;
  secret?: { secretName: string; defaultMode: number; items?: { key: string; path: string }[] };
}
interface Workload extends KubernetesObject {
  spec: {
    replicas: number;
    serviceName?: string;
    template: { spec: { terminationGracePeriodSeconds: number; containers: PodContainer[]; volumes: Volume[] } };
  };
}
interface Certificate extends KubernetesObject {
  spec: { secretName: string; uris: string[]; dnsNames: string[] };
}

/** A pod of the chart as a container, and its probes. */
interface Pod {
  spec: ContainerSpec;
  /** Name in the network. */
  host: string;
  probes: Probes;
  /** Number of a port that the container names. */
  portOf(name: string): number;
}

/** Secrets of the namespace by their names, each with texts by their keys. */
export type Secrets = Readonly<Record<string, Readonly<Record<string, string>>>>;

/** Names in the certificate that cert-manager would make, in the form of openssl, and the secret that gets it. */
export function certificateOf(objects: readonly KubernetesObject[]): { secretName: string; names: string[] } {
  const { spec } = named<Certificate>(objects, "Certificate");
  const names = [...spec.uris.map((uri) => `URI:${uri}`), ...spec.dnsNames.map((name) => `DNS:${name}`)];
  return { secretName: spec.secretName, names };
}

/** The pods of a workload (StatefulSet or Deployment). @param addressOf address of the pod with a number from 0 */
export function podsOf(
  objects: readonly KubernetesObject[],
  kind: "StatefulSet" | "Deployment",
  secrets: Secrets,
  addressOf: (index: number) => string,
): Pod[] {
  const { metadata, spec } = named<Workload>(objects, kind);
  const { terminationGracePeriodSeconds, containers, volumes } = spec.template.spec;
  const [container] = containers;
  assert.ok(container && containers.length === 1);
  return Array.from({ length: spec.replicas }, (_, index) => {
    const name = `${metadata.name}-${index}`;
    const files = container.volumeMounts.flatMap((mount) => filesOf(mount, volumes, secrets));
    return {
      spec: {
        ...{ name, address: addressOf(index), args: container.args ?? null, env: environmentOf(container.env, name) },
        secrets: Object.fromEntries(files),
        secretMode: "440",
        graceMs: terminationGracePeriodSeconds * 1_000,
      },
      host: spec.serviceName === undefined ? name : `${name}.${spec.serviceName}.${NAMESPACE}.svc`,
      probes: container,
      portOf: (wanted) => container.ports?.find((port) => port.name === wanted)?.containerPort ?? assert.fail(wanted),
    };
  });
}

/** Name of the service for clients. */
export function serviceOf(objects: readonly KubernetesObject[]): string {
  return `${named(objects, "Service").metadata.name}.${NAMESPACE}.svc`;
}

function environmentOf(variables: readonly Variable[], podName: string): Record<string, string> {
  const env: Record<string, string> = {};
  for (const { name, value = "", valueFrom } of variables) {
    assert.ok(valueFrom === undefined || valueFrom.fieldRef.fieldPath === "metadata.name", name);
    // Kubernetes puts in the variables before this one.
    const filled = value.replaceAll(/\$\((\w+)\)/g, (whole, other: string) => env[other] ?? whole);
    env[name] = valueFrom === undefined ? filled : podName;
  }
  return env;
}

/** Files of a mounted secret. Other volumes have none. */
function filesOf(mount: { name: string; mountPath: string }, volumes: readonly Volume[], secrets: Secrets) {
  const secret = volumes.find(({ name }) => name === mount.name)?.secret;
  if (secret === undefined) return [];
  assert.equal(secret.defaultMode, 0o440);
  const texts = secrets[secret.secretName] ?? assert.fail(`there is no secret ${secret.secretName}`);
  const items = secret.items ?? Object.keys(texts).map((key) => ({ key, path: key }));
  return items.map(({ key, path }) => {
    return [`${mount.mountPath}/${path}`, texts[key] ?? assert.fail(`${secret.secretName} has no ${key}`)] as const;
  });
}

function named<T extends KubernetesObject>(objects: readonly KubernetesObject[], kind: string): T {
  return (objects.find((object) => object.kind === kind) ?? assert.fail(`the chart has no ${kind}`)) as T;
}
