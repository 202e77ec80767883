import { SignalBody, SignalRequest, Uuid } from "@mainspring/contract";
import { SIGNAL_MAX_BYTES } from "@mainspring/contract/limits";
import type { FastifyRequest } from "fastify";
import { Type } from "typebox";
import { isFinal } from "../../domain/execution.ts";
import type { Signal } from "../../domain/step.ts";
import type { Tenant } from "../../ports/authenticator.ts";
import type { Runtime } from "../../ports/runtime.ts";
import type { Store } from "../../ports/store.ts";
import type { SignalCommand } from "../../ports/store-commands.ts";
import type { SignalOutcome } from "../../ports/store-steps.ts";
import type { TenantStores } from "../../security/tenant-stores.ts";
import type { Commands } from "../commands.ts";
import { type Lacking, requireFeature } from "../feature-gate.ts";
import { JobParts } from "../http/body/json-parts.ts";
import { answer, problems } from "../http/documented.ts";
import { invalid, ProblemError, type ProblemName, problem } from "../http/errors.ts";
import type { HttpApp } from "../http/http-app.ts";
import { formatInstant } from "../http/instants.ts";
import { tenantOfCaller } from "../http/security.ts";
import { payloadOf } from "../submit/submit-route.ts";
import { noSuch } from "./execution-routes.ts";

export interface SignalDependencies {
  runtime: Runtime;
  commands: Commands;
  stores: Pick<TenantStores, "of">;
  store: Pick<Store, "steps">;
  lacking?: Lacking | undefined;
}

/** Route POST /v1/executions/{executionId}/signals */
export function signalRoute(app: HttpApp, deps: SignalDependencies): void {
  const schema = {
    operationId: "signalExecution",
    tags: ["executions"],
    summary: "Send a signal to the handler of an execution",
    params: Type.Object({ executionId: Uuid("the execution") }),
    body: SignalRequest,
    response: {
      200: answer(SignalBody, "Taken before: an earlier request had the same id, name and data"),
      202: answer(SignalBody, "Taken: a step that waits for the signal, or comes to wait for it, gets it"),
      ...problems("not-found", "execution-final", "wrong-state", "payload-too-large", "unsupported-media-type"),
    },
  };
  void app.register(async (scope) => {
    app.takeBodies(scope, () => new JobParts("data"));
    (scope as HttpApp).post(
      "/v1/executions/:executionId/signals",
      { schema, config: { scope: "runs:control" } },
      async (request, reply) => {
        const signal = receivedSignal(request, deps);
        const outcome = await sendSignal(
          deps,
          tenantOfCaller(request),
          request.params.executionId.toLowerCase(),
          signal,
        );
        const { code, body } = signalAnswer(outcome, signal, () => noSuch("execution"));
        return reply.code(code).send(body);
      },
    );
  });
}

export type SentSignal = Omit<Signal, "at">;

/** @throws {ProblemError} 409: a living node does not know of signals; 400: there is too much data */
export function receivedSignal(
  { body, received }: { body: SignalRequest; received: FastifyRequest["received"] },
  { runtime, lacking }: Pick<SignalDependencies, "runtime" | "lacking">,
): SentSignal {
  requireFeature("SUSPENSION", lacking);
  const data = payloadOf(received);
  if (data !== null && data.length > SIGNAL_MAX_BYTES) throw tooLarge(data.length);
  return { id: body.id ?? runtime.uuid(), name: body.name, data };
}

/** @param unknown problem of an unknown receiver. @throws {ProblemError} 404 or 409: the signal was not taken */
export function signalAnswer(
  outcome: Sent,
  { id, name }: SentSignal,
  unknown: () => ProblemError,
): { code: 200 | 202; body: SignalBody } {
  if (!("at" in outcome)) throw outcome.kind === "UNKNOWN" ? unknown() : refusal(outcome.kind, id);
  const isRepeated = outcome.kind === "REPEATED";
  const body = { signalId: id, name, acceptedAt: formatInstant(outcome.at), isRepeated };
  return { code: isRepeated ? 200 : 202, body };
}

type Sent = SignalOutcome | { kind: "IS_WORKFLOW" };

/** Stores a signal, and tells the owner. @throws {StoreUnavailable} a repeat with the same id says whether it is stored */
export async function sendSignal(
  deps: Omit<SignalDependencies, "lacking">,
  tenant: Tenant,
  executionId: string,
  signal: SentSignal,
): Promise<Sent> {
  const view = await deps.stores.of(tenant).queries.getExecution(executionId);
  if (view === null) return { kind: "UNKNOWN" };
  if (view.isRun && !isFinal(view.state)) return { kind: "IS_WORKFLOW" };
  return await passSignal(deps, { shard: view.shard, executionId }, signal);
}

/** @param to execution, or node whose execution may not exist yet. @throws {StoreUnavailable} */
export async function passSignal(
  { runtime, store, commands }: Omit<SignalDependencies, "lacking" | "stores">,
  to: Pick<SignalCommand, "shard" | "executionId" | "ofNode">,
  signal: SentSignal,
): Promise<SignalOutcome> {
  const command: SignalCommand = { id: runtime.uuid(), kind: "SIGNAL", ...to };
  const sent = { ...signal, at: Math.floor(runtime.now()) };
  const outcome = await store.steps.addSignal(to.executionId, sent, command);
  if (outcome.kind === "ACCEPTED") commands.pass(command);
  return outcome;
}

function refusal(kind: keyof typeof REFUSALS, id: string): ProblemError {
  const [name, detail] = REFUSALS[kind];
  return new ProblemError(problem(name, detail(id)));
}

const REFUSALS: Readonly<
  Record<
    "FINAL" | "ID_REUSED" | "TOO_MANY" | "IS_WORKFLOW",
    readonly [name: ProblemName, detail: (id: string) => string]
  >
> = {
  FINAL: ["execution-final", () => "the execution is final: no handler of it runs any more"],
  ID_REUSED: ["signal-id-reused", (id) => `the signal ${JSON.stringify(id)} has another name or other data`],
  IS_WORKFLOW: ["wrong-state", () => "a run of a workflow has no handler: send the signal to a node of the run"],
  TOO_MANY: ["too-many-signals", () => "too many signals wait for a step of the execution"],
};

function tooLarge(bytes: number): ProblemError {
  const message = `has ${bytes} bytes: at most ${SIGNAL_MAX_BYTES} (64 KiB) are taken`;
  return new ProblemError(invalid([{ field: "data", message }]));
}
