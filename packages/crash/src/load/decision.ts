import type { JobRequestState } from "@mainspring/sdk";
import { sleep } from "../clock.ts";
import type { SubmitterParts } from "./submitters.ts";
import { untilAnswered } from "./until-answered.ts";

const LOOK_MS = 200;

interface TakenIn extends Pick<JobRequestState, "deduplicated"> {
  jobId: string;
  executionId: string;
}

/**
 * Waits until a server has decided a request.
 * @returns ids of its job
 * @throws {Error} the request was refused, or the server does not know it
 */
export async function decision({ client }: Pick<SubmitterParts, "client">, requestId: string): Promise<TakenIn> {
  for (;;) {
    const request = await untilAnswered(() => client.requests.get(requestId));
    const { state, jobId, executionId, deduplicated, problem } = request;
    if (jobId !== null && executionId !== null) return { jobId, executionId, deduplicated };
    if (state !== "ACCEPTED") throw new Error(problem?.detail ?? `the request ${requestId} has no job`);
    await sleep(LOOK_MS);
  }
}
