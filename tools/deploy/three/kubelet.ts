import assert from "node:assert/strict";
import { request as plain } from "node:http";
import { request as secure } from "node:https";
import { until } from "@mainspring/server/testing";

/** An HTTP probe of a pod's container, as Kubernetes has it. Absent fields have Kubernetes' defaults. */
interface Probe {
  httpGet: { path: string; port: string; scheme: "HTTP" | "HTTPS" };
  periodSeconds?: number;
  timeoutSeconds?: number;
  failureThreshold?: number;
}

export interface Probes {
  startupProbe: Probe;
  livenessProbe: Probe;
  readinessProbe: Probe;
}

/** Asks the probes of one pod as a kubelet does: the first one until the pod has started, and then both others at their periods. */
export class Kubelet {
  readonly #host: string;
  readonly #probes: Probes;
  readonly #portOf: (name: string) => number;
  readonly #timers: NodeJS.Timeout[] = [];
  #ready = false;
  /** Time at which a ready pod was found unready first; null: it was not. */
  #unreadyAtMs: number | null = null;
  /** Failures of the liveness probe in a row. */
  #failures = 0;
  #restarts = 0;

  /** @param portOf number of a port that the container names */
  constructor(host: string, probes: Probes, portOf: (name: string) => number) {
    this.#host = host;
    this.#probes = probes;
    this.#portOf = portOf;
  }

  /** Number of restarts that a kubelet would have made because the pod did not answer. */
  get restarts(): number {
    return this.#restarts;
  }

  /**
   * Waits until the pod has started and is ready, and watches it from then on.
   * @param check throws if the pod's program has ended
   * @throws it does not start in its time
   */
  async started(check: () => Promise<unknown>): Promise<void> {
    const { startupProbe, livenessProbe, readinessProbe } = this.#probes;
    const { periodSeconds = 10, failureThreshold = 3 } = startupProbe;
    const lastMs = performance.now() + periodSeconds * failureThreshold * 1_000;
    await until(async () => {
      assert.ok(performance.now() < lastMs, `${this.#host} did not start within its probe's time`);
      await check();
      return this.#asks(startupProbe);
    });
    this.#unreadyAtMs = null;
    this.#failures = 0;
    this.#every(livenessProbe, async () => this.#judgeLiveness(await this.#asks(livenessProbe)));
    this.#every(readinessProbe, async () => this.#judgeReadiness(await this.#asks(readinessProbe)));
    await until(() => this.#ready);
  }

  /** Ends the liveness probe, as a kubelet does before it stops a pod. */
  stopping(): void {
    clearInterval(this.#timers.shift());
  }

  /** Ends all probes. @returns time since the pod was found unready, in milliseconds; null: it was ready to the end */
  gone(): number | null {
    for (const timer of this.#timers.splice(0)) clearInterval(timer);
    this.#ready = false;
    return this.#unreadyAtMs === null ? null : performance.now() - this.#unreadyAtMs;
  }

  #every({ periodSeconds = 10 }: Probe, act: () => Promise<void>): void {
    this.#timers.push(setInterval(() => void act(), periodSeconds * 1_000));
    void act();
  }

  #judgeLiveness(isAlive: boolean): void {
    this.#failures = isAlive ? 0 : this.#failures + 1;
    if (this.#failures === (this.#probes.livenessProbe.failureThreshold ?? 3)) this.#restarts += 1;
  }

  #judgeReadiness(isReady: boolean): void {
    if (this.#ready && !isReady) this.#unreadyAtMs ??= performance.now();
    this.#ready = isReady;
  }

  #asks({ httpGet: { path, port, scheme }, timeoutSeconds = 1 }: Probe): Promise<boolean> {
    const options = { host: this.#host, port: this.#portOf(port), path, timeout: timeoutSeconds * 1_000 };
    return new Promise((resolve) => {
      const no = () => resolve(false);
      // A kubelet does not check certificates, and takes 200 to 399 as a yes.
      const asking = (scheme === "HTTPS" ? secure : plain)({ ...options, rejectUnauthorized: false }, (answer) => {
        answer.resume();
        resolve((answer.statusCode ?? 500) < 400);
      });
      asking
        .on("timeout", () => asking.destroy())
        .on("error", no)
        .end();
    });
  }
}
