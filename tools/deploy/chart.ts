import assert from "node:assert/strict";
import { execFile, execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import process from "node:process";
import { promisify } from "node:util";
import { parseAllDocuments } from "yaml";
import { DOWNLOADS, installOnce } from "../services/install-once.ts";
import { pythonWith } from "../services/python-packages.ts";

const run = promisify(execFile);
const CHART = resolve(import.meta.dirname, "../../deploy/helm/mainspring");
const HELM = "helm.sh/helm/v3/cmd/helm@v3.22.0";
/** Release of Kubernetes whose schemas the objects are checked against. */
const KUBERNETES = "1.37.0";

const SCALED = {
  pool: "reports",
  autoscaling: { min: 0, max: 9, backlogPerWorker: 50, prometheus: "http://prometheus:9090" },
};
const OWN = {
  pool: "mail",
  image: "mail:2",
  command: ["node", "mail.mjs"],
  keySecret: "mail",
  replicas: 3,
  stopSeconds: 90,
};
/** Values by what they are for. */
const CASES: Record<string, object> = {
  "default values": {},
  "certificates and metrics": {
    tls: { certManager: { enabled: true, issuer: { kind: "Issuer", name: "internal" }, dnsNames: ["jobs.example"] } },
    serviceMonitor: { enabled: true, labels: { release: "prometheus" } },
    workers: { reports: SCALED, mail: OWN },
  },
  "a closed network": {
    networkPolicy: {
      clients: [{ podSelector: { matchLabels: { app: "shop" } } }],
      to: [{ ipBlock: { cidr: "10.0.0.7/32" } }],
    },
    nodes: {
      count: 5,
      settings: { MAINSPRING_LOG_LEVEL: "warn", MAINSPRING_STREAMS_MAX: 5_000 },
      podAnnotations: { team: "jobs" },
    },
    imagePullSecrets: [{ name: "registry" }],
    service: { type: "LoadBalancer", annotations: { internal: "true" } },
  },
};
const REFUSED: Record<string, object> = {
  "a setting that is none": { nodes: { settings: { LOG_LEVEL: "warn" } } },
  "a value that is unknown": { node: { count: 3 } },
  "certificates without an issuer": { tls: { certManager: { enabled: true } } },
};

export interface KubernetesObject {
  apiVersion: string;
  kind: string;
  metadata: { name: string };
}

/**
 * Renders the chart by Helm with several values, and checks the objects that Kubernetes itself has against its schemas. Needs Go, which builds Helm
 * once, and the registries of Go and Python.
 * @throws an object is wrong, or wrong values are accepted
 */
export async function tryChart(): Promise<void> {
  const helm = await builtHelm();
  const constraints = join(import.meta.dirname, "constraints.txt");
  const python = await pythonWith({ name: "kubernetes-validate", constraints });
  const folder = mkdtempSync(join(tmpdir(), "mainspring-chart-"));
  try {
    await run(helm, ["lint", "--strict", CHART]);
    for (const [title, values] of Object.entries(CASES)) {
      const objects = render(helm, folder, values);
      const own = objects.filter(({ apiVersion }) => !/^(cert-manager|keda|monitoring)\./.test(apiVersion));
      for (const object of own) {
        const file = join(folder, "object.json");
        writeFileSync(file, JSON.stringify(object));
        await run(python, ["-m", "kubernetes_validate", "--strict", "--kubernetes-version", KUBERNETES, file]);
      }
      console.log(`${title}: ${objects.map(({ kind, metadata }) => `${kind} ${metadata.name}`).join(", ")}`);
    }
    for (const [title, values] of Object.entries(REFUSED)) {
      assert.throws(() => render(helm, folder, values), title);
      console.log(`${title}: refused`);
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Objects of the chart in the namespace `jobs`, as Helm renders them. */
export async function renderedWith(values: object): Promise<KubernetesObject[]> {
  const helm = await builtHelm();
  const folder = mkdtempSync(join(tmpdir(), "mainspring-chart-"));
  try {
    return render(helm, folder, values);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function render(helm: string, folder: string, values: object): KubernetesObject[] {
  const file = join(folder, "values.json");
  writeFileSync(file, JSON.stringify(values));
  const args = ["template", "--kube-version", KUBERNETES, "--namespace", "jobs", "--values", file, "mainspring", CHART];
  const text = execFileSync(helm, args, { encoding: "utf8", stdio: "pipe" });
  // Kubernetes reads YAML 1.1, in which 0440 is octal.
  return parseAllDocuments(text, { version: "1.1" }).map((document) => {
    assert.deepEqual(document.errors, []);
    return document.toJS() as KubernetesObject;
  });
}

/** Path of Helm, which Go builds when it is not there yet. */
export async function builtHelm(): Promise<string> {
  const folder = join(DOWNLOADS, HELM.replaceAll(/[^\w.]/g, "-"));
  await installOnce(folder, async (fresh) => {
    const env = { ...process.env, GOBIN: fresh, GOFLAGS: "-mod=mod" };
    await run("go", ["install", HELM], { env, maxBuffer: 16 * 1024 * 1024 });
  });
  return join(folder, "helm");
}
