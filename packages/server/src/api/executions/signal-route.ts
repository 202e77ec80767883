import { SignalBody, SignalRequest, Uuid } from "@mainspring/contract";
import { SIGNAL_MAX_BYTES } from "@mainspring/contract/limits";
import { Type } from "typebox";
import { isFinal } from "../../domain/execution.ts";
import { DEFAULT_TENANT } from "../../domain/ids.ts";
import type { Runtime } from "../../ports/runtime.ts";
import type { Store } from "../../ports/store.ts";
import type { SignalOutcome } from "../../ports/store-steps.ts";
import type { Commands } from "../commands.ts";
import { type Lacking, requireFeature } from "../feature-gate.ts";
import { JobParts } from "../http/body/json-parts.ts";
import { answer, problems } from "../http/documented.ts";
import { invalid, ProblemError, type ProblemName, problem } from "../http/errors.ts";
import type { HttpApp } from "../http/http-app.ts";
import { formatInstant } from "../http/instants.ts";
import { payloadOf } from "../submit/submit-route.ts";
import { noSuch } from "./execution-routes.ts";

interface SignalDependencies {
  runtime: Runtime;
  commands: Commands;
  store: Pick<Store, "queries" | "steps">;
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
    (scope as HttpApp).post("/v1/executions/:executionId/signals", { schema }, async (request, reply) => {
      requireFeature("SUSPENSION", deps.lacking);
      const data = payloadOf(request.received);
      if (data !== null && data.length > SIGNAL_MAX_BYTES) throw tooLarge(data.length);
      const { runtime } = deps;
      const { name, id = runtime.uuid() } = request.body;
      const outcome = await sendSignal(deps, request.params.executionId.toLowerCase(), { id, name, data });
      if (!("at" in outcome)) throw refusal(outcome.kind, id);
      const isRepeated = outcome.kind === "REPEATED";
      const body = { signalId: id, name, acceptedAt: formatInstant(outcome.at), isRepeated };
      return reply.code(isRepeated ? 200 : 202).send(body);
    });
  });
}

/** Stores a signal, and tells the owner. @throws {StoreUnavailable} a repeat with the same id says whether it is stored */
export async function sendSignal(
  { runtime, store, commands }: Omit<SignalDependencies, "lacking">,
  executionId: string,
  signal: { id: string; name: string; data: Uint8Array | null },
): Promise<SignalOutcome | { kind: "IS_WORKFLOW" }> {
  const view = await store.queries.getExecution(DEFAULT_TENANT, executionId);
  if (view === null) return { kind: "UNKNOWN" };
  if (view.isRun && !isFinal(view.state)) return { kind: "IS_WORKFLOW" };
  const command = { id: runtime.uuid(), shard: view.shard, kind: "SIGNAL", executionId } as const;
  const outcome = await store.steps.addSignal(executionId, { ...signal, at: Math.floor(runtime.now()) }, command);
  if (outcome.kind === "ACCEPTED") commands.pass(command);
  return outcome;
}

function refusal(
  kind: Exclude<SignalOutcome["kind"], "ACCEPTED" | "REPEATED"> | "IS_WORKFLOW",
  id: string,
): ProblemError {
  if (kind === "UNKNOWN") return noSuch("execution");
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
  IS_WORKFLOW: ["wrong-state", () => "a run of a workflow has no handler: send the signal to the execution of a node"],
  TOO_MANY: ["too-many-signals", () => "too many signals wait for a step of the execution"],
};

function tooLarge(bytes: number): ProblemError {
  const message = `has ${bytes} bytes: at most ${SIGNAL_MAX_BYTES} (64 KiB) are taken`;
  return new ProblemError(invalid([{ field: "data", message }]));
}
